use super::*;
use crate::fetch::loopback::{Answer, LoopbackSite, fetcher, page};
use crate::politeness::PolitenessConfig;

const LIMITS: GetLimits = GetLimits {
    bytes_max: 1_000,
    time_max: Duration::from_secs(5),
    pause_max: Duration::from_secs(2),
    exit: Exit {
        pool: trawl_plan::Pool::Standard,
        country: None,
    },
    pace: Some(RequestPace::NONE),
};

fn get() -> PoliteGet {
    PoliteGet::new(fetcher(), Politeness::new(&PolitenessConfig::default()))
}

fn redirect(to: &str) -> Vec<Answer> {
    vec![page(301, &format!("location: {to}\r\n"), "moved")]
}

#[tokio::test]
async fn five_redirects_are_followed_and_the_sixth_is_returned() {
    let paths: Vec<(String, Vec<Answer>)> = (0..6)
        .map(|number| (format!("/{number}"), redirect(&format!("/{}", number + 1))))
        .chain([("/6".to_owned(), vec![page(200, "", "there")])])
        .collect();
    let paths: Vec<_> = paths
        .iter()
        .map(|(path, answers)| (path.as_str(), answers.clone()))
        .collect();
    let site = LoopbackSite::start(&paths).await;
    let response = get()
        .get(&site.url("/1"), LIMITS)
        .await
        .expect("a response");
    assert_eq!(
        (response.status, &response.body[..], response.end),
        (200, &b"there"[..], BodyEnd::Complete)
    );
    assert_eq!(response.final_url, site.url("/6"));
    let response = get()
        .get(&site.url("/0"), LIMITS)
        .await
        .expect("a response");
    assert_eq!(response.status, 301);
}

#[tokio::test]
async fn a_long_body_is_truncated_and_a_broken_one_returns_what_arrived() {
    let cut_short = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf".to_owned();
    let gzip = {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&vec![b'a'; 1_000_000]).expect("memory");
        encoder.finish().expect("memory")
    };
    let bomb = Answer::Whole(200, "content-encoding: gzip\r\n".to_owned(), gzip);
    let site = LoopbackSite::start(&[
        ("/long", vec![page(200, "", &"a".repeat(5_000))]),
        ("/fits", vec![page(200, "", &"a".repeat(1_000))]),
        ("/short", vec![Answer::Raw(cut_short)]),
        ("/bomb", vec![bomb]),
        (
            "/no-gzip",
            vec![page(200, "content-encoding: gzip\r\n", "plain text")],
        ),
    ])
    .await;
    for (path, len, end) in [
        ("/long", 1_000, BodyEnd::Truncated),
        ("/fits", 1_000, BodyEnd::Complete),
        ("/short", 4, BodyEnd::Broken),
        ("/bomb", 1_000, BodyEnd::Truncated),
        ("/no-gzip", 0, BodyEnd::Broken),
    ] {
        let response = get()
            .get(&site.url(path), LIMITS)
            .await
            .expect("a response");
        assert_eq!((response.body.len(), response.end), (len, end), "{path}");
    }
}

#[tokio::test]
async fn a_host_that_is_not_ready_is_retried_after_its_pause() {
    let site = LoopbackSite::start(&[
        (
            "/soon",
            vec![page(503, "retry-after: 1\r\n", ""), page(200, "", "now")],
        ),
        ("/never", vec![page(503, "retry-after: 0\r\n", "")]),
    ])
    .await;
    let begun = Instant::now();
    let response = get()
        .get(&site.url("/soon"), LIMITS)
        .await
        .expect("a response");
    assert_eq!(&response.body[..], b"now");
    assert!(begun.elapsed() >= Duration::from_millis(990));
    let response = get()
        .get(&site.url("/never"), LIMITS)
        .await
        .expect("a response");
    assert_eq!(response.status, 503);
    assert_eq!(site.asked().len(), 2 + 1 + RETRIES_MAX);
}

#[tokio::test]
async fn timeouts_and_private_hosts_are_errors() {
    let site = LoopbackSite::start(&[("/", vec![Answer::Silence(Duration::from_secs(3))])]).await;
    let limits = GetLimits {
        time_max: Duration::from_millis(100),
        ..LIMITS
    };
    let error = get()
        .get(&site.url("/"), limits)
        .await
        .expect_err("silence");
    assert!(matches!(error, FetchError::TimedOut(time) if time == limits.time_max));
    let private = Url::parse("http://10.0.0.1/").expect("a URL");
    let error = get()
        .get(&private, LIMITS)
        .await
        .expect_err("a private IP address");
    assert!(matches!(error, FetchError::Egress(_)));
}

#[tokio::test]
async fn a_fetch_without_a_delay_does_not_wait_for_the_pages_permit() {
    let site = LoopbackSite::start(&[("/", vec![page(200, "", "good")])]).await;
    let politeness = Politeness::new(&PolitenessConfig {
        in_flight_per_host: 1,
    });
    let _page = politeness.permit("127.0.0.1").await;
    let get = PoliteGet::new(fetcher(), politeness);
    let limits = GetLimits {
        pace: None,
        ..LIMITS
    };
    let response = timeout(LIMITS.time_max, get.get(&site.url("/"), limits)).await;
    assert!(response.expect("no waiting").is_ok());
}

#[tokio::test]
async fn a_pause_that_is_too_long_is_not_waited_for() {
    let long = page(503, "retry-after: 3600\r\n", "later");
    let site = LoopbackSite::start(&[("/", vec![long])]).await;
    let get = get();
    for pace in [Some(RequestPace::NONE), None] {
        let limits = GetLimits { pace, ..LIMITS };
        let url = site.url("/");
        let first = timeout(LIMITS.time_max, get.get(&url, limits)).await;
        match first.expect("at once") {
            Ok(response) => assert_eq!(response.status, 503),
            Err(error) => assert!(matches!(error, FetchError::Paused(_)), "{error}"),
        }
    }
    assert_eq!(site.asked().len(), 1, "the site asked not to be contacted");
}
