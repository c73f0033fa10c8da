//! Page types, and their names in path segments, anchor texts and prompts, in several languages:
//! lists for [`analyst_base::lists`]. Accents are folded; words of one name are joined by `-`.

use analyst_base::lists;
use serde::Serialize;
use trawl_rank::fold;

/// Type of the page a link leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ContentType {
    /// A news item or post.
    Article,
    /// Something for sale.
    Product,
    /// Contact details.
    Contact,
    /// About a person or organisation.
    About,
    /// Manuals, references, help.
    Documentation,
    /// A list of other pages: a category, search results, pagination.
    Listing,
    /// Terms, privacy policy, imprint.
    Legal,
    /// Sign-in, sign-up, account, cart.
    Login,
    /// An image, video or audio file.
    Media,
    /// A file to download.
    Download,
    /// Anything else.
    Other,
}

pub(crate) const ALL: [(&str, ContentType); 11] = [
    ("article", ContentType::Article),
    ("product", ContentType::Product),
    ("contact", ContentType::Contact),
    ("about", ContentType::About),
    ("documentation", ContentType::Documentation),
    ("listing", ContentType::Listing),
    ("legal", ContentType::Legal),
    ("login", ContentType::Login),
    ("media", ContentType::Media),
    ("download", ContentType::Download),
    ("other", ContentType::Other),
];

impl ContentType {
    /// Its name in answers.
    pub(crate) fn name(self) -> &'static str {
        ALL.iter()
            .find(|(_, own)| *own == self)
            .map_or("other", |(name, _)| name)
    }

    /// Parses a type as written by the caller.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let name = name.trim().to_lowercase();
        let exact = ALL
            .iter()
            .find(|(own, _)| *own == name)
            .map(|(_, own)| *own);
        exact.or_else(|| type_word(&name))
    }
}

/// The page type a word names.
pub(crate) fn type_word(word: &str) -> Option<ContentType> {
    let word = fold(word);
    let mut types = TYPE_WORDS.iter();
    types
        .find(|(_, names)| lists(names, &word))
        .map(|(own, _)| *own)
}

/// Names of page types, of which articles and products have lists: as a path segment, of the page
/// there or below; as a whole anchor text, of the page that it leads to.
pub(crate) const NAMES: &[(ContentType, &str)] = &[
    (
        ContentType::Login,
        "login log-in signin sign-in signup sign-up register registration account my-account \
        logout password auth cart checkout basket wishlist anmelden anmeldung registrieren \
        konto mein-konto warenkorb kasse merkzettel connexion inscription mon-compte panier \
        iniciar-sesion registro mi-cuenta carrito accedi registrati carrello entrar carrinho \
        minha-conta inloggen winkelwagen logowanie koszyk my-cart einloggen zur-kasse \
        se-connecter s'inscrire inscrire registrarse create-account log-out abmelden \
        start-free-trial get-started zaloguj-sie logga-in",
    ),
    (
        ContentType::Legal,
        "privacy privacy-policy privacy-notice terms terms-of-service terms-of-use \
        terms-and-conditions tos legal legal-notice imprint impressum datenschutz \
        datenschutzerklaerung datenschutzerklarung agb nutzungsbedingungen widerruf \
        widerrufsbelehrung cookies cookie-policy cookie disclaimer gdpr mentions-legales \
        confidentialite politique-de-confidentialite cgv cgu aviso-legal privacidad \
        politica-de-privacidad politica-de-privacidade note-legali termini \
        informativa-privacy termos privacidade voorwaarden algemene-voorwaarden \
        privacybeleid regulamin licence license copyright accessibility barrierefreiheit \
        terms-conditions widerrufsrecht cookie-settings terminos-y-condiciones \
        termini-e-condizioni termos-de-uso",
    ),
    (
        ContentType::Contact,
        "contact contacts contact-us kontakt contacto contatti contattaci contato \
        nous-contacter contactez-nous get-in-touch anfahrt standorte locations stores \
        store-locator kontaktieren-sie-uns kontaktformular contactenos contactanos \
        fale-conosco neem-contact-op find-a-store kontakta-oss",
    ),
    (
        ContentType::About,
        "about about-us aboutus company our-story team our-team who-we-are ueber-uns uber-uns \
        unternehmen wir firma a-propos qui-sommes-nous notre-equipe entreprise \
        sobre-nosotros quienes-somos nosotros empresa chi-siamo azienda sobre quem-somos \
        over-ons o-nas om-oss om-os history mission careers jobs karriere das-team \
        unser-team about-the-company",
    ),
    (
        ContentType::Documentation,
        "docs doc documentation dokumentation documentacion documentazione documentacao \
        manual manuals handbuch manuel guide guides user-guide reference api api-reference \
        api-docs tutorial tutorials howto how-to help hilfe aide ayuda aiuto ajuda hulp \
        support faq faqs kb knowledge-base getting-started quickstart examples wiki \
        help-center anleitung anleitungen",
    ),
    (
        ContentType::Product,
        "product products produkt produkte produit produits producto productos prodotto \
        prodotti produto produtos p dp item items shop store buy artikel-detail sku tienda \
        boutique negozio loja winkel sklep",
    ),
    (
        ContentType::Listing,
        "category categories kategorie kategorien categorie categoria categorias tag tags \
        topic topics archive archives archiv collection collections kollektion search suche \
        recherche buscar cerca busca zoeken browse catalog catalogue katalog index author \
        authors all c sale new-arrivals themen rubrik page listings directory next next-page \
        previous older-posts newer-posts show-all view-all see-all all-articles all-products \
        alle-anzeigen alle-artikel alle-produkte nachste-seite weiter zuruck suivant \
        precedent voir-tout siguiente anterior ver-todo ver-todos successivo volgende \
        producten more-articles more-news",
    ),
    (
        ContentType::Article,
        "blog blogs news article articles artikel story stories post posts nachrichten \
        meldung meldungen aktuelles actualites actualite actu noticias noticia articulo \
        articulos notizie notizia articolo articoli artigo artigos nieuws nieuwsbericht \
        beitrag beitraege magazin magazine journal press presse press-releases \
        pressemitteilung pressemitteilungen insights opinion politik politics politica sport \
        sports world aktualnosci wiadomosci nyheter",
    ),
    (
        ContentType::Media,
        "video videos watch gallery galerie galeria galleria photos photo fotos images bilder \
        podcast podcasts mediathek media-gallery watch-video watch-now listen",
    ),
    (
        ContentType::Download,
        "download downloads herunterladen telechargement telechargements telecharger \
        descargas descargar scarica download-pdf pdf",
    ),
];

/// Anchor texts that lead to something for sale.
pub(crate) const BUY: &str = "buy-now add-to-cart jetzt-kaufen in-den-warenkorb acheter comprar acquista view-product \
    zum-produkt voir-le-produit ver-producto";

/// Words that name a page type in a prompt unless they are part of a compound.
const TYPE_WORDS: &[(ContentType, &str)] = &[
    (
        ContentType::Article,
        "article articles blog blogs post posts news story stories artikel nachrichten beitrage \
        blogbeitrage articulos articulo noticias articoli notizie artigos nieuws actualites \
        nouvelles press",
    ),
    (
        ContentType::Product,
        "product products item items produkt produkte produktseiten produit produits producto \
        productos prodotto prodotti produtos producten",
    ),
    (
        ContentType::Contact,
        "contact contacts kontakt kontaktseite kontaktseiten contacto contatti contato",
    ),
    (
        ContentType::About,
        "company team imprint-about unternehmen unternehmensseiten",
    ),
    (
        ContentType::Documentation,
        "documentation docs doc manual manuals guides tutorials dokumentation handbuch \
        anleitungen documentacion documentazione help hilfe faq faqs",
    ),
    (
        ContentType::Listing,
        "listing listings category categories kategorie kategorien kategorieseiten pagination \
        archive search categorias categorie",
    ),
    (
        ContentType::Legal,
        "legal privacy terms imprint impressum datenschutz rechtliches agb cookies",
    ),
    (
        ContentType::Login,
        "login logins signin signup account accounts register registration anmeldung cart \
        checkout warenkorb connexion",
    ),
    (
        ContentType::Media,
        "media video videos image images gallery galleries podcast podcasts medien",
    ),
    (ContentType::Download, "download downloads"),
];

/// Social networks: a link leads to a profile, not to content.
pub(crate) const SOCIAL: &str = "facebook.com twitter.com x.com instagram.com linkedin.com youtube.com tiktok.com \
    pinterest.com xing.com threads.net mastodon.social bsky.app t.me wa.me whatsapp.com vk.com \
    snapchat.com reddit.com";
