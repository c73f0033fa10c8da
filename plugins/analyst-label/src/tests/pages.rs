//! Small manually labelled pages. The first half was used while developing the taxonomy; the second
//! half was held out.

/// A page: its name, its HTML, the topics of which one must come first, and its industry, if any.
pub(super) type Case = (
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

pub(super) const SEEN: &[Case] = &[
    (
        "pancakes",
        "<title>Fluffy pancakes</title><h1>Fluffy pancakes</h1><p>Whisk flour, sugar and two eggs. Melt butter in the pan and bake each side for two minutes. Ingredients: 200 g flour, 300 ml milk. Serve with maple syrup.</p>",
        &["Cooking & Recipes"],
        &[],
    ),
    (
        "Zahnarzt",
        "<html lang=de><title>Zahnarztpraxis Dr. Weber, Köln</title><h1>Ihre Zahnärzte in Köln</h1><p>Wir bieten Prophylaxe, Implantate und Bleaching. Unsere Praxis behandelt Patienten aller Kassen. Vereinbaren Sie einen Termin in unserer Sprechstunde.</p>",
        &["Health & Medicine"],
        &["Dental"],
    ),
    (
        "law",
        "<title>Miller & Stone, attorneys at law</title><h1>Experienced trial lawyers</h1><p>Our law firm has represented clients in court for thirty years: contract disputes, litigation, divorce. Ask for legal advice from an attorney today.</p>",
        &["Law & Legal"],
        &["Legal Services"],
    ),
    (
        "Fußball",
        "<html lang=de><title>Bundesliga: Dortmund gewinnt das Derby</title><h1>Dortmund gewinnt das Derby mit 3:1</h1><p>Die Mannschaft von Trainer Kovac traf in der ersten Halbzeit zweimal. Der Stürmer erzielte sein zehntes Tor der Saison, das Stadion tobte. In der Tabelle der Liga bleibt das Team auf Platz zwei.</p>",
        &["Sports"],
        &[],
    ),
    (
        "rust book",
        "<title>Ownership - a guide to Rust</title><h1>What is ownership?</h1><p>Rust is a programming language whose compiler checks how memory is used. A function takes a variable; the code below does not compile. Add the crate to your repository and run cargo.</p><pre>fn main() {}</pre>",
        &["Software Development"],
        &[],
    ),
    (
        "immobilier",
        "<html lang=fr><title>Appartements à vendre à Lyon - agence immobilière</title><h1>Appartement 3 pièces</h1><p>Notre agence immobilière vous propose cet appartement de 68 m2 avec deux chambres, une cuisine équipée et un balcon. Loyer ou achat, contactez notre agent.</p>",
        &["Real Estate"],
        &["Real Estate"],
    ),
    (
        "hotel",
        "<html lang=it><title>Hotel Bellavista, Rimini</title><h1>Benvenuti all'Hotel Bellavista</h1><p>Camere con vista mare, colazione inclusa, reception aperta tutta la notte. Prenota la tua vacanza: la spiaggia è a due passi.</p>",
        &["Hotels & Accommodation", "Travel & Tourism"],
        &["Travel & Hospitality"],
    ),
    (
        "solar",
        "<title>Solar panels for your roof | SunWorks</title><h1>Make your own electricity</h1><p>Our photovoltaic systems cut your energy bill. A battery storage keeps what the panels make; sell the rest to the grid for a tariff per kWh.</p>",
        &["Energy"],
        &["Energy & Utilities"],
    ),
    (
        "crypto",
        "<title>Bitcoin falls below 60,000</title><h1>Bitcoin falls as investors sell tokens</h1><p>The price of bitcoin fell on Tuesday. Other cryptocurrencies such as ethereum lost too; miners moved coins to an exchange. Blockchain data shows wallets selling.</p>",
        &["Cryptocurrency"],
        &[],
    ),
    (
        "seguros",
        "<html lang=es><title>Seguro de coche desde 15 € al mes</title><h1>Tu seguro de coche</h1><p>Calcula el precio de tu póliza. Nuestra aseguradora cubre el siniestro con franquicia o sin ella. Cobertura a todo riesgo para tu coche.</p>",
        &["Insurance"],
        &["Insurance"],
    ),
    (
        "shop",
        "<title>Men's leather boots - Buy online</title><h1>Leather boots</h1><p>120 EUR, in stock. Choose a size. Add to cart. Free shipping and free returns. Material: leather. Customers also bought: jackets, jeans, shoes.</p>",
        &["Fashion & Clothing", "Shopping & Deals"],
        &["Retail & E-commerce", "Fashion & Apparel"],
    ),
    (
        "job",
        "<title>Senior accountant (m/f/d) - careers</title><h1>Job: senior accountant</h1><p>We are hiring full time. Your salary is 60,000 a year. Qualifications: a degree and experience. Apply now with your resume; our human resources team answers within a week.</p>",
        &["Jobs & Careers"],
        &[],
    ),
    (
        "kirche",
        "<html lang=de><title>Evangelische Kirchengemeinde St. Paul</title><h1>Willkommen in unserer Gemeinde</h1><p>Gottesdienst jeden Sonntag um 10 Uhr. Die Pfarrerin lädt zum Gebet ein. Bibelkreis am Mittwoch.</p>",
        &["Religion & Spirituality"],
        &["Religious Organizations"],
    ),
    (
        "climate",
        "<title>Emissions must halve by 2030, scientists warn</title><h1>Climate report</h1><p>Carbon emissions are still rising. Climate change threatens biodiversity and ecosystems; forests and species suffer from pollution. A sustainable future needs renewable energy.</p>",
        &["Environment & Climate"],
        &[],
    ),
    (
        "schema recipe",
        r#"<title>Oma Hildes Bester</title><script type="application/ld+json">{"@type":"Recipe","name":"Oma Hildes Bester"}</script><h1>Oma Hildes Bester</h1><p>Ein Klassiker aus dem Ofen.</p>"#,
        &["Cooking & Recipes"],
        &[],
    ),
    (
        "section",
        r#"<title>What comes next</title><meta property="article:section" content="Politics"><h1>What comes next</h1><p>After the long night the coalition has to find an answer. The minister spoke to the parliament.</p>"#,
        &["Politics & Government"],
        &[],
    ),
    (
        "plombier",
        "<html lang=fr><title>Plombier à Nantes - dépannage 24h/24</title><h1>Votre plombier à Nantes</h1><p>Fuite, chauffage, salle de bains : notre artisan plombier intervient en urgence. Devis gratuit.</p>",
        &["Construction & Renovation", "Home & Garden"],
        &["Skilled Trades & Home Services"],
    ),
    (
        "restaurante",
        "<html lang=pt><title>Restaurante Sabor do Mar</title><h1>Restaurante Sabor do Mar, Lisboa</h1><p>O nosso chef prepara pratos de peixe fresco. Menu do dia, vinho da casa e sobremesas. Reserve uma mesa.</p>",
        &["Food & Drink"],
        &["Restaurants & Catering"],
    ),
    (
        "saas",
        "<title>Planly - project management software for teams</title><h1>Plan work, automate workflows</h1><p>A cloud platform with dashboards, integrations and an API. Start your free trial or book a demo. Pricing: 9 EUR per user.</p>",
        &[
            "Software Development",
            "Cloud Computing",
            "Business & Entrepreneurship",
            "Data & Analytics",
        ],
        &["Software & SaaS"],
    ),
    (
        "cats",
        "<title>How to feed a kitten</title><h1>Feeding your kitten</h1><p>A cat needs fresh water. A kitten eats four times a day; ask your veterinarian which food the breed needs. Puppies and dogs differ.</p>",
        &["Pets & Animals"],
        &[],
    ),
];

pub(super) const UNSEEN: &[Case] = &[
    (
        "wandern",
        "<html lang=de><title>Die zehn schönsten Wanderungen im Allgäu</title><h1>Wandern im Allgäu</h1><p>Vom Parkplatz führt der Weg steil zum Gipfel. Feste Schuhe und ein Rucksack genügen, oben wartet eine Hütte. Die Tour dauert vier Stunden und hat 700 Höhenmeter.</p>",
        &["Outdoors & Hiking", "Travel & Tourism"],
        &[],
    ),
    (
        "dentista",
        "<html lang=es><title>Clínica dental Sonrisa, Madrid</title><h1>Tu dentista de confianza</h1><p>Ortodoncia, implantes y blanqueamiento. Pide tu cita: cuidamos los dientes de toda la familia.</p>",
        &["Health & Medicine"],
        &["Dental"],
    ),
    (
        "guitar",
        "<title>Beginner guitar lessons: your first three chords</title><h1>Three chords, one hundred songs</h1><p>Hold the guitar with your left hand. Play G, then C, then D. Sing the melody of a song you know and keep time with a drum track.</p>",
        &["Music"],
        &[],
    ),
    (
        "steuer",
        "<html lang=de><title>Steuerberatung Krüger</title><h1>Ihr Steuerberater in Hannover</h1><p>Wir erledigen Buchhaltung, Lohnabrechnung und Jahresabschluss und vertreten Sie beim Finanzamt. Auch Ihre Steuererklärung machen wir gern.</p>",
        &["Taxes & Accounting"],
        &["Accounting & Tax"],
    ),
    (
        "phone",
        "<title>Review: the new Pixel phone</title><h1>A smartphone with a great camera</h1><p>The display is bright and the battery lasts two days. Android runs fast, the charger is slow. Compared with the iPhone it is cheaper.</p>",
        &["Mobile & Gadgets"],
        &[],
    ),
    (
        "élection",
        "<html lang=fr><title>Élection présidentielle : le second tour</title><h1>Le second tour en direct</h1><p>Les candidats ont voté ce matin. Selon le ministre de l'Intérieur, la participation baisse. Le gouvernement et les partis attendent les résultats.</p>",
        &["Politics & Government"],
        &[],
    ),
    (
        "vineyard",
        "<title>Our vineyard - Weingut Sommer</title><h1>Wines from the slope</h1><p>Since 1890 our winery makes riesling. The harvest is done by hand, the wine rests in oak. Order a bottle or taste six wines in the cellar.</p>",
        &["Food & Drink"],
        &["Food & Beverage Production"],
    ),
    (
        "courier",
        "<title>ParcelGo: courier and freight across Europe</title><h1>Ship a parcel today</h1><p>Our fleet of trucks delivers pallets and containers. Track your shipment online; customs papers included. Warehouses in six countries make your supply chain short.</p>",
        &["Logistics & Shipping"],
        &["Transport & Logistics"],
    ),
    (
        "depressione",
        "<html lang=it><title>Ansia e depressione: quando chiedere aiuto</title><h1>Quando chiedere aiuto</h1><p>La depressione è una malattia. Lo psicologo o la psicoterapia aiutano; i sintomi durano settimane. Parlane con il tuo medico.</p>",
        &["Mental Health", "Health & Medicine"],
        &[],
    ),
    (
        "gym",
        "<title>IronHouse gym Leeds</title><h1>Train without limits</h1><p>Weights, cardio and yoga classes. Memberships from 25 a month with a personal trainer. Our coaches plan your workout.</p>",
        &["Fitness & Exercise"],
        &["Fitness & Sports"],
    ),
    (
        "lego history",
        "<title>The fall of the Roman empire</title><h1>The fall of an empire</h1><p>In the fifth century the emperor lost the west. Historians name many causes: kings, wars, and an army that was not paid. Ancient ruins and archaeology tell the rest.</p>",
        &["History"],
        &[],
    ),
    (
        "vacature",
        "<html lang=nl><title>Vacature: verpleegkundige in Utrecht</title><h1>Vacature verpleegkundige</h1><p>Wij zoeken een collega voor 32 uur per week. Goed salaris en opleiding. Solliciteer nu met je curriculum.</p>",
        &["Jobs & Careers"],
        &[],
    ),
    (
        "ev",
        "<title>Test drive: the new electric SUV</title><h1>The electric SUV on the road</h1><p>The car reaches 100 in six seconds. Its range is 500 kilometres, and the vehicle charges at 150 kW. The engine makes no sound; brakes and tyres are good.</p>",
        &["Automotive"],
        &[],
    ),
    (
        "charity",
        "<title>Donate - Water for Villages</title><h1>Your donation brings water</h1><p>We are a nonprofit. Volunteers build wells; every donation helps refugees and families out of poverty. Become a member of our foundation.</p>",
        &["Nonprofit & Charity"],
        &["Nonprofit & Associations"],
    ),
    (
        "friseur",
        "<html lang=de><title>Salon Anna - Friseur in Bonn</title><h1>Schöne Haare</h1><p>Schneiden, Färben, Föhnen: unser Friseursalon ist dienstags bis samstags offen. Auch Kosmetik und Maniküre. Termin online buchen.</p>",
        &["Beauty & Cosmetics"],
        &["Beauty & Wellness"],
    ),
    (
        "ml paper",
        "<title>Scaling sparse transformers</title><h1>Scaling sparse transformers</h1><p>Abstract. We train language models with sparse neural networks. Machine learning at this scale needs data; our embeddings and inference are faster. Experiments show the algorithm wins.</p>",
        &["Artificial Intelligence", "Science & Research"],
        &[],
    ),
    (
        "kids",
        "<title>Sleep training for your baby</title><h1>When does a baby sleep through?</h1><p>Newborns wake often. Parents can help their toddler with a routine. Breastfeeding mothers need rest; change the diaper before bed.</p>",
        &["Parenting & Family"],
        &[],
    ),
    (
        "stadt",
        "<html lang=de><title>Stadtverwaltung Musterstadt - Bürgeramt</title><h1>Bürgerservice im Rathaus</h1><p>Hier stellen Sie Ihren Antrag auf einen Personalausweis. Das Amt ist montags geöffnet. Formulare und Verordnungen der Gemeinde.</p>",
        &["Politics & Government"],
        &["Government & Public Administration"],
    ),
    (
        "novel",
        "<title>The Salt Road: a novel</title><h1>The Salt Road</h1><p>Her third novel is her best. The author tells of two sisters; readers will love each chapter. Published as paperback and ebook, ISBN 978-3-16-148410-0.</p>",
        &["Books & Literature"],
        &[],
    ),
    (
        "bank",
        "<html lang=it><title>Conto corrente online - Banca Futura</title><h1>Apri il tuo conto corrente</h1><p>La banca senza canone: carta di credito, prestiti e mutuo a tasso fisso. Risparmia con il conto deposito. IBAN italiano.</p>",
        &["Personal Finance"],
        &["Banking"],
    ),
];
