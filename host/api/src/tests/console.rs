//! The console over HTTP, and what other clients get in its place.

use super::server::TestServer;

const PEER: &str = "192.0.2.1:1";
const BROWSER: (&str, &str) = (
    "accept",
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
);

#[tokio::test]
async fn a_browser_gets_the_console_and_others_the_page_of_prose() {
    let server = TestServer::new().await;
    for path in ["/", "/v1/"] {
        let console = server.get_from(path, PEER, &[BROWSER]).await;
        assert_eq!(console.status, 200);
        assert_eq!(console.header("content-type"), "text/html; charset=utf-8");
        assert_eq!(console.header("vary"), "accept-encoding, accept");
        assert!(console.body.contains("src=\"console/app.js\""));
        let policy = console.header("content-security-policy");
        assert!(policy.contains("script-src 'self'"), "{policy}");
        assert!(policy.contains("require-trusted-types-for 'script'"));
        assert!(!policy.contains("unsafe-inline"), "{policy}");
        for accept in ["*/*", "application/json", "text/htmlx"] {
            let prose = server.get_from(path, PEER, &[("accept", accept)]).await;
            assert_eq!(prose.header("vary"), "accept-encoding, accept");
            assert!(prose.body.contains("POST /scrape HTTP/1.1"), "{accept}");
        }
    }
}

#[tokio::test]
async fn files_have_their_type_their_policy_and_a_validator() {
    let server = TestServer::new().await;
    for (path, media_type) in [
        ("/console/app.js", "text/javascript; charset=utf-8"),
        (
            "/v1/console/pages/playground.js",
            "text/javascript; charset=utf-8",
        ),
        ("/console/console.css", "text/css; charset=utf-8"),
        ("/console/icon.svg", "image/svg+xml"),
        ("/console/frame/index.html", "text/html; charset=utf-8"),
    ] {
        let first = server.get_from(path, PEER, &[]).await;
        assert_eq!(first.status, 200, "{path}");
        assert_eq!(first.header("content-type"), media_type);
        assert_eq!(first.header("x-content-type-options"), "nosniff");
        assert_eq!(first.header("referrer-policy"), "no-referrer");
        assert_eq!(first.header("set-cookie"), "");
        let policy = first.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
        let is_frame = path.ends_with("frame/index.html");
        assert_eq!(policy.ends_with("sandbox allow-scripts"), is_frame);
        let known = [("if-none-match", first.header("etag"))];
        let again = server.get_from(path, PEER, &known).await;
        assert_eq!((again.status.as_u16(), again.body.as_str()), (304, ""));
    }
    let packed = [("accept-encoding", "gzip")];
    let packed = server.get_from("/console/app.js", PEER, &packed).await;
    assert_eq!(packed.header("content-encoding"), "gzip");
}

#[tokio::test]
async fn a_file_that_is_none_is_not_found() {
    let server = TestServer::new().await;
    for path in [
        "/console/",
        "/console/other.js",
        "/console/../Cargo.toml",
        "/console/%2e%2e/Cargo.toml",
        "/console/pages/",
    ] {
        let response = server.get_from(path, PEER, &[]).await;
        assert_eq!(response.status, 404, "{path}");
    }
}
