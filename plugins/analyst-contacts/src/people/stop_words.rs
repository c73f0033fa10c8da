//! Words that names of people do not have, by the letter they begin with: in lower case without accents.

/// What headings, buttons, addresses and names of companies say.
const WORDS: &[(char, &str)] = &[
    (
        'a',
        "abningstider about academy accept acces account accounting accounts accueil achats acquisti administratie administration adres adresa adress \
         adresse advertising afdeling affairs africa ag agb agence agency agents agentur agosto agricola agriturismo ai airport aktuelles aleja all \
         alla alle allee am amazon america amministrazione amtsgericht an and android anfahrt angebot angebote ankara anmelden annual anschrift any \
         aout apartment apartments aperto apertura apningstider apotheke app apple apr aprile archive are argentina as asociatia associates \
         association at atencion au auf aug augustus aukioloajat aus australia authority auto autumn aux avda avdeling avdelning avec avenida avenue \
         aviso avocats avril ayuntamiento az azienda",
    ),
    (
        'b',
        "back backerei baden bakery bank basic bayern be beach beauty become bedrijf beer bei belgie belgique berlin best bezirk bienvenue big bij \
         bike bildnachweis bir bitte biuro biz bize blog blue board bodega bodegas boekhouding bolt bonjour book booking bookings boulevard boutique \
         brasil bratislava brauerei brno buchhaltung bucuresti budapest building bulevardul bulvari bureau buro bus butik butikk by",
    ),
    (
        'c',
        "cabinet cadde cafe calendar call calle camp camping can canada cancel cantina car care career careers carrer carretera cars carsamba cart \
         category cell center central centre cesko cesta chateau checkout chemin chez chi chile china chiuso christmas church cinema city classic \
         client cliente clientes clients clinic clinica clinique close cloud club code codice coffee colegio college com commande commission \
         committee communications company compras comptabilite comune con condiciones conditions confidentialite confirm consulting contabilidad \
         contabilita contact contacto contacts contatti content cookie cookies copyright corp corporation correo corso council country county course \
         courses court credit csutortok ctvrtek cu cumartesi customer czerwiec czwartek",
    ),
    (
        'd',
        "dal damen danmark dans das data datenschutz dear dec december decembre decline degustation dei delivery della delle dem dental departement \
         department des description design desk det details deutschland development dezember dezembro dicembre diciembre die dienstag digital \
         dimanche din dinsdag direccion direction district division dla doba does domaine domenica domingo donate donderdag donnerstag drive duminica",
    ),
    (
        'e',
        "e-mail each easter eastern ecole een egy ein eine einer einkauf ekonomi elerhetoseg elettronica email emergency empfang en encomendas \
         endereco energy enero engineering england entreprise envio epost er es escuela espana estate estudio et ett etterem etude europe european \
         event events every",
    ),
    (
        'f',
        "facebook faculte fakultat faq farm farmacia fax feb febbraio febrero februar februari february federation ferienwohnung ferme fevereiro \
         fevrier filiale finance finca finland firm firma first fiscale fitness floor follow food for forsaljning foundation france frau fredag free \
         freitag fri friday from front full fundatia fur",
    ),
    (
        'g',
        "gade gallery garage garden gardens gas gasse gastehaus gasthaus gasthof gata gatan gate gemeente gemeinde gemeinschaftspraxis general \
         generales gennaio germany geschaftsstelle get giovedi gite github giugno gli global gmbh godziny golden google goteborg government gracht \
         gracias grand great grill group grudzien guten gymnasium",
    ),
    (
        'h',
        "haftung hakkimizda hallinto handelsregister handy harbour haus head health hello help helsinki her here herr herren hessen het hetfo high \
         his hochschule hodin hola holding home hopital horaires horario horarios hospital hostal hotel hours house how hrvatska huis human",
    ),
    (
        'i',
        "ich icin id if ihr ihre ihrer il ile iletisim im imoveis impasse impressum in inc india indirizzo info information inhalt inicio inkoop \
         inkop inn instagram institut institute instituto insurance international ireland iroda is island islands istanbul it italia italy izmir",
    ),
    (
        'j',
        "janeiro januar januari january janvier japan jetzt jeudi job jobs join jueves juillet juin jul julho juli julio july jun junho juni junio",
    ),
    (
        'k',
        "kade kancelar kantoor kanzlei kapcsolat katu kedd keskiviikko kg kindergarten kingdom kirche kirke kitchen klantenservice kleintierpraxis \
         kobenhavn kommun kommune konak kontakt kontakty konto kontor korut krakow kreis ksiegowosc kundendienst kundeservice kundtjanst kwiecien \
         kyrka",
    ),
    (
        'l',
        "laan lager landkreis lane largo las lauantai law learn legal legales lehrstuhl leistungen les library limited linkedin linux lipiec lisboa \
         listopad livraison livraria llc lo lodge login logistics loja london lordag los low ltd luglio lundi lunedi lunes luty lycee",
    ),
    (
        'm',
        "maanantai maandag maart magaza magazin maggio magyarorszag mahallesi mail main maio mairie maison maj managing mandag map march marche mardi \
         market marketing markt mars martedi marti marzec marzo mastodon mayo med media medical meet mehr mei mejl mentions menu mercoledi mercredi \
         message mesto met metzgerei mexico microsoft miercoles miercuri milano ministry mit mittwoch mob mobile mon monday montag month morada more \
         mountain museum my myynti",
    ),
    (
        'n',
        "na naar nach namesti nas nase nasz nasza nasze national navigation nedele nederland negozio nel nella network neue neuer neues new news next \
         niederlassung niedziela no norge northern nos nosotros nossa nosso not notaires notice notre nous nouveau nouvelle nov november \
         novembre novembro noviembre now nr nuestra nuestras nuestro nuestros nueva nuevo number nuova nuovo nyitvatartas",
    ),
    (
        'o',
        "obchod obec och oct october octobre octubre od oddzial oder oeffnungszeiten of office offnungszeiten og oil okonomi oktober old om on one \
         online ons onsdag onze op open opening openingstijden operations oppettider or orari order orders os oslo osoite ospedale oss osterreich \
         otel oteviraci ottobre otwarcia ou our outubro ouverture",
    ),
    (
        'p',
        "pa page panier par para paris park parking parliament partita partners paseo password patek payment pazartesi pazdziernik pedido pension \
         pentek pentru penzion per perjantai persembe personal pfarrei ph pharmacie phone piata piatek piazza pinterest pizza plac place plads plan \
         platz plaza plc please plein plus poland police policy politica politique polska pondeli ponedjeljak poniedzialek por port porto portugal \
         post posta pour powered praca praha praktijk praxis preise premium prenotazioni press previous prices print privacidad privacy procurement \
         product production products program programme project projects protection province pub public publishing puhelin purchasing",
    ),
    ('q', "quai quality quarta quinta"),
    (
        'r',
        "radno raiffeisenbank read real realty recepcion reception red ref reference region register relations republic rescue research reservas \
         reservation reservations reserved resort resources restaurace restauracja restaurant returns rezeption rights road roma romania room rooms \
         royal rua rue rufen",
    ),
    (
        's',
        "sabado sabato sachsen sainte sales salg sambata samedi samstag sankt santo sarl saturday school schreiben schule schweiz scotland scuola \
         search second section security segunda seit sekretariat send sep sept september septembre septiembre service services setembro settembre \
         settings seu sexta share shipping shop si siamo sie siege sierpien site sitemap sitz skip sklep skola skole slovenija slovensko small sobota \
         sobre societa societe society software sokak solutions some sondag sonntag southern spa spain sparkasse special sport sports \
         sprechzeiten spring sprzedaz square srbija srl sroda stadt standard standort startseite state states station stichting stockholm store str \
         straat strada strasse streda street studio styczen su sua submit suche suisse suite suites sunday sunnuntai suomi support sur sus \
         sverige system systems szalloda szerda szkola szombat",
    ),
    (
        't',
        "tag tags tarifs te tea team technical technik technologies technology tel telefax telefon telefono telefoon telegram telephone terca \
         terminos terms thank that the theater theatre their theme there these they third this those three thu thursday tienda tierarztpraxis tiistai \
         tiktok til tirsdag tisdag to today toggle toimisto toll top torget torsdag torstai touch tours tower trading train training travessa trg \
         trgovina trida tu tue tuesday turkiye twitter two",
    ),
    (
        'u',
        "uber ugyvedi ul ulica ulice um uma un una und une union unit united universidad universita universitat universite university uniwersytet uno \
         uns unser unsere unserer unter unternehmen us username utca utery uw uzlet",
    ),
    (
        'v',
        "vagen valley var vara vasarnap vei veien vej vendite vendredi venerdi ventas vente ventes verein vereniging verkauf verkoop versand vertrieb \
         verwaltung vestiging vi via viale viernes vieux view villa ville vineri visa visite visites vol volksbank vom von voor votre vrijdag vrijeme",
    ),
    (
        'w',
        "warenkorb warszawa was water we web website wednesday week weg weingut welcome werkstatt western what whatsapp when where who why widerruf \
         wien windows wine winkel wir with woensdag wordpress work works workshop workshops world write wrzesien wtorek wydawnictwo",
    ),
    ('y', "year yes yhteystiedot yliopisto you your youtube"),
    (
        'z',
        "zahlung zahnarztpraxis zaterdag zentrale zentrum zondag zum zur zurich",
    ),
    ('α', "αθηνα"),
    ('γ', "για"),
    ('δ', "δευτερα διευθυνση"),
    ('ε', "ελλαδα επικοινωνια εστιατοριο εταιρεια"),
    ('κ', "και κυριακη"),
    ('λ', "λεωφορος"),
    ('μ', "με"),
    ('ξ', "ξενοδοχειο"),
    ('ο', "οδος οι"),
    ('π', "παρασκευη πεμπτη πλατεια"),
    ('σ', "σαββατο"),
    ('τ', "τα τεταρτη τηλεφωνο το τριτη"),
    ('ω', "ωρες"),
    ('а', "адрес"),
    ('б', "българия"),
    ('в', "воскресенье вторник вулиця"),
    ('г', "главная"),
    ('к', "київ компания компанія контакты"),
    ('м', "магазин москва"),
    ('н', "наш наша наши наші"),
    ('о', "отдел офис"),
    ('п', "площадь понедельник понеділок почта проспект пятница"),
    ('р', "работы режим россия"),
    ('с', "санкт склад софия среда суббота"),
    ('т', "телефон"),
    ('у', "україна ул улица"),
    ('ч', "четверг"),
];

/// Ends of words for streets, houses and companies, in languages that join words.
const ENDS: &[&str] = &[
    "strasse",
    "gasse",
    "platz",
    "allee",
    "straat",
    "laan",
    "gatan",
    "vagen",
    "vegen",
    "veien",
    "gade",
    "utca",
    "katu",
    "schule",
    "kirche",
    "verein",
    "klinik",
    "praxis",
    "kanzlei",
    "apotheke",
    "service",
    "dienst",
    "zentrum",
    "stelle",
    "verband",
    "gesellschaft",
    "museum",
    "sprechstunde",
    "zeiten",
    "versicherung",
    "verwaltung",
    "abteilung",
    "technik",
    "software",
    "media",
    "systems",
    "tion",
    "tionen",
    "ungen",
    "schaft",
    "keit",
    "ology",
    "cion",
    "zione",
    "zioni",
    "cao",
    "coes",
    "sjon",
    "haus",
    "huset",
    "bank",
];

/// Whether a word (in lower case, without accents) stands in no name.
pub(super) fn is_stranger(word: &str) -> bool {
    let Some(first) = word.chars().next() else {
        return false;
    };
    let row = WORDS.iter().find(|(letter, _)| *letter == first);
    row.is_some_and(|(_, words)| words.split_ascii_whitespace().any(|known| known == word))
        || word.len() > 6 && ENDS.iter().any(|end| word.ends_with(end))
}
