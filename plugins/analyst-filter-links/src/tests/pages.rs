//! Manually labelled links. The first half of each list was used while developing the rules; the
//! second half was held out.

/// A path under `https://site.example`, the anchor text, and the expected type.
pub(super) type TypeCase = (&'static str, &'static str, &'static str);

pub(super) const TYPES_SEEN: &[TypeCase] = &[
    ("/blog/why-we-moved", "Why we moved", "article"),
    ("/blog", "Blog", "listing"),
    (
        "/2024/05/12/storm-hits-coast",
        "Storm hits the coast",
        "article",
    ),
    (
        "/news/politik/wahl-ergebnis-a-1234.html",
        "Das Ergebnis der Wahl",
        "article",
    ),
    ("/products/red-chair", "Red chair", "product"),
    ("/products", "All products", "listing"),
    ("/produkt/holztisch-eiche", "Holztisch Eiche", "product"),
    ("/dp/B00X4", "Lamp", "product"),
    ("/kontakt", "Kontakt", "contact"),
    ("/nous-contacter", "Contactez-nous", "contact"),
    ("/ueber-uns", "Über uns", "about"),
    ("/chi-siamo", "Chi siamo", "about"),
    ("/docs/install", "Installation", "documentation"),
    ("/api/reference/users", "Users", "documentation"),
    ("/hilfe/rueckgabe", "Rückgabe", "documentation"),
    ("/category/shoes", "Shoes", "listing"),
    ("/blog/tag/rust", "rust", "listing"),
    ("/search?q=tea", "More results", "listing"),
    ("/blog?page=2", "2", "listing"),
    ("/privacy-policy", "Privacy", "legal"),
    ("/impressum", "Impressum", "legal"),
    ("/mentions-legales", "Mentions légales", "legal"),
    ("/aviso-legal", "Aviso legal", "legal"),
    ("/login?next=/", "Log in", "login"),
    ("/mein-konto", "Mein Konto", "login"),
    ("/cart", "Cart (2)", "login"),
    ("/files/report-2023.pdf", "Annual report", "download"),
    ("/tool-1.2.zip", "Get it", "download"),
    ("/img/team.jpg", "Our team", "media"),
    ("/videos/launch", "Launch", "media"),
    ("/", "Home", "other"),
    ("/x81", "Something", "other"),
];

pub(super) const TYPES_UNSEEN: &[TypeCase] = &[
    ("/stories/a-day-at-the-mill", "A day at the mill", "article"),
    ("/actualites/le-nouveau-tram", "Le nouveau tram", "article"),
    ("/noticias/2023/09/el-puerto", "El puerto crece", "article"),
    ("/2021-03-04-release-notes", "Release notes", "article"),
    (
        "/how-to-plant-a-tree-in-autumn",
        "How to plant a tree in autumn",
        "article",
    ),
    (
        "/magazin/herbst/die-besten-aepfel",
        "Die besten Äpfel",
        "article",
    ),
    ("/shop/kettle-steel", "Steel kettle", "product"),
    ("/prodotti/sedia-rossa", "Sedia rossa", "product"),
    ("/item/88123", "Vase", "product"),
    ("/tienda/mesa-de-roble", "Mesa de roble", "product"),
    ("/contact-us", "Write to us", "contact"),
    ("/contatti", "Contatti", "contact"),
    ("/kontaktformular", "Kontaktformular", "contact"),
    ("/about", "Our company", "about"),
    ("/quienes-somos", "Quiénes somos", "about"),
    ("/over-ons", "Over ons", "about"),
    ("/karriere", "Karriere", "about"),
    ("/manual/chapter-2", "Chapter 2", "documentation"),
    ("/faq", "FAQ", "documentation"),
    ("/ayuda/envios", "Envíos", "documentation"),
    ("/tutorials/first-steps", "First steps", "documentation"),
    ("/kategorie/lampen", "Lampen", "listing"),
    ("/collections/summer", "Summer", "listing"),
    ("/author/ann", "Ann", "listing"),
    ("/terms", "Terms", "legal"),
    ("/datenschutz", "Datenschutz", "legal"),
    ("/politica-de-privacidad", "Privacidad", "legal"),
    ("/agb", "AGB", "legal"),
    ("/signup", "Create account", "login"),
    ("/panier", "Panier", "login"),
    ("/brochure.docx", "Brochure", "download"),
    ("/downloads/latest", "Download", "download"),
    ("/song.mp3", "Listen", "media"),
    ("/gallery", "Gallery", "media"),
];

/// A page: the prompt, its links by path and text (prefix `!` puts a link in the footer, `^` in the
/// navigation), and the relevant paths.
pub(super) type RelevanceCase = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static [&'static str],
);

pub(super) const RELEVANCE_SEEN: &[RelevanceCase] = &[
    (
        "solar panels",
        &[
            ("/a", "Solar panels for roofs"),
            ("/b", "Wind turbines"),
            ("/solar-panel-costs", "What it costs"),
            ("^/c", "Contact"),
            ("!/privacy", "Privacy"),
        ],
        &["/a", "/solar-panel-costs"],
    ),
    (
        "only PDF",
        &[
            ("/a.pdf", "Report"),
            ("/b", "Report as page"),
            ("/c.PDF?x=1", "Prices"),
            ("/d.docx", "Letter"),
        ],
        &["/a.pdf", "/c.PDF?x=1"],
    ),
    (
        "not news",
        &[
            ("/news/big-storm-today", "Big storm"),
            ("/products/lamp", "Lamp"),
            ("/docs/a", "Guide"),
        ],
        &["/products/lamp", "/docs/a"],
    ),
    (
        "product pages",
        &[
            ("/products/lamp", "Lamp"),
            ("/products/chair", "Chair"),
            ("/blog/lamps", "All about lamps"),
            ("^/products", "Products"),
        ],
        &["/products/lamp", "/products/chair"],
    ),
    (
        "articles about climate",
        &[
            ("/blog/climate-report", "The climate report"),
            ("/blog/football", "Football today"),
            ("/products/climate-mug", "Climate mug"),
        ],
        &["/blog/climate-report"],
    ),
    (
        "contact",
        &[
            ("/kontakt", "Kontakt"),
            ("/impressum", "Impressum"),
            ("/blog/x", "Neues"),
        ],
        &["/kontakt"],
    ),
    (
        "",
        &[
            ("/blog/tea-time", "Tea time"),
            ("/products/tea", "Green tea"),
            ("^/login", "Login"),
            ("!/privacy", "Privacy policy"),
            ("!/impressum", "Impressum"),
            ("!https://facebook.com/x", "Facebook"),
        ],
        &["/blog/tea-time", "/products/tea"],
    ),
    (
        "Reisen nach Italien",
        &[
            ("/reise/italien-rundreise", "Rundreise durch Italien"),
            ("/reise/spanien", "Spanien entdecken"),
            ("/hotel", "Hotels"),
        ],
        &["/reise/italien-rundreise"],
    ),
    (
        "external links",
        &[
            ("https://other.example/x", "Other"),
            ("/a", "Own"),
            ("https://www.site.example/b", "Own too"),
        ],
        &["https://other.example/x"],
    ),
    (
        "recetas de pollo",
        &[
            ("/recetas/pollo-al-horno", "Pollo al horno"),
            ("/recetas/sopa-de-pescado", "Sopa de pescado"),
            ("/recetas/ensalada-con-pollo", "Ensalada con pollo"),
        ],
        &["/recetas/pollo-al-horno", "/recetas/ensalada-con-pollo"],
    ),
    (
        "documentation, no login pages",
        &[
            ("/docs/start", "Start"),
            ("/docs/api", "API"),
            ("/login", "Login"),
            ("/pricing", "Pricing"),
        ],
        &["/docs/start", "/docs/api"],
    ),
    (
        "nur Artikel",
        &[
            ("/blog/herbst-im-garten", "Herbst im Garten"),
            ("/produkte/spaten", "Spaten"),
            ("/datenschutz", "Datenschutz"),
        ],
        &["/blog/herbst-im-garten"],
    ),
];

pub(super) const RELEVANCE_UNSEEN: &[RelevanceCase] = &[
    (
        "electric cars",
        &[
            ("/e-auto", "Electric car test"),
            ("/news/car-tax", "Car tax rises"),
            ("/bikes", "Bikes"),
            ("/electric-cars-2024", "The best of the year"),
        ],
        &["/e-auto", "/electric-cars-2024"],
    ),
    (
        "images",
        &[
            ("/a.png", "Logo"),
            ("/b.jpg", "Team"),
            ("/c", "About"),
            ("/d.pdf", "Flyer"),
        ],
        &["/a.png", "/b.jpg"],
    ),
    (
        "everything except legal and login",
        &[
            ("/privacy", "Privacy"),
            ("/signin", "Sign in"),
            ("/blog/one-two", "One two"),
            ("/docs/x", "X"),
        ],
        &["/blog/one-two", "/docs/x"],
    ),
    (
        "blog posts",
        &[
            ("/blog/first-snow", "First snow"),
            ("/blog/last-leaf", "Last leaf"),
            ("/about", "About"),
            ("/shop/hat", "Hat"),
        ],
        &["/blog/first-snow", "/blog/last-leaf"],
    ),
    (
        "assurance habitation",
        &[
            ("/assurance-habitation", "Assurance habitation"),
            ("/assurance-auto", "Assurance auto"),
            ("/contact", "Contact"),
            (
                "/blog/assurer-son-habitation",
                "Bien assurer son habitation",
            ),
        ],
        &["/assurance-habitation", "/blog/assurer-son-habitation"],
    ),
    (
        "Preise für Fenster",
        &[
            ("/fenster-preise", "Was kosten Fenster?"),
            ("/tueren", "Türen"),
            ("/fenster", "Fenster"),
            ("/team", "Team"),
        ],
        &["/fenster-preise", "/fenster"],
    ),
    (
        "about us pages",
        &[
            ("/ueber-uns", "Über uns"),
            ("/blog/x-y", "X Y"),
            ("/agb", "AGB"),
        ],
        &["/ueber-uns"],
    ),
    (
        "",
        &[
            ("/2024/01/big-fire", "Big fire in the port"),
            ("/2024/02/new-mayor", "The new mayor"),
            ("^/", "Home"),
            ("!/terms", "Terms of use"),
            ("!/cookies", "Cookies"),
            ("^/account", "My account"),
        ],
        &["/2024/01/big-fire", "/2024/02/new-mayor"],
    ),
    (
        "python tutorial without video",
        &[
            ("/python-tutorial", "Python tutorial"),
            ("/videos/python-tutorial", "Python tutorial (video)"),
            ("/java", "Java tutorial"),
        ],
        &["/python-tutorial"],
    ),
    (
        "treinamento de cães",
        &[
            ("/treinamento-de-caes", "Treinamento de cães"),
            ("/gatos", "Gatos"),
            ("/blog/treinar-seu-cao", "Como treinar o seu cão"),
        ],
        &["/treinamento-de-caes", "/blog/treinar-seu-cao"],
    ),
    (
        "only internal links",
        &[
            ("/a", "A page here"),
            ("https://else.example/", "Elsewhere"),
            ("https://site.example/b", "B page here"),
        ],
        &["/a", "https://site.example/b"],
    ),
    (
        "spreadsheets or csv",
        &[
            ("/data.csv", "Data"),
            ("/table.xlsx", "Table"),
            ("/table.html", "Table as page"),
        ],
        &["/data.csv", "/table.xlsx"],
    ),
];
