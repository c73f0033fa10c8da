//! Words of what people do, by the letter they begin with: stems in lower case without accents.

/// Stems that words for what people do begin with.
const STEMS: &[(char, &str)] = &[
    (
        'a',
        "abogad accountant addett adjoint administra adviser adviseur advisor advocat advogad advokaa advokat agronom alcald amministra analist \
         analyst animat anwalt apothek arbeidsleder architec architek architet arkkitehti arquitect arquitet arst artisan arzt asci asesor asisten \
         assessor assistan assistent asszisztens attorney auditor auteur author avocat avukat avvocat",
    ),
    (
        'b',
        "barrister baskan beauftragt bendahara berater besitzer bestuurder bestyrer betreuer betriebsleiter biolog bookkeeper botanist boulanger \
         brewer bucatar buhalter burgemeester burgermeister burmistrz",
    ),
    (
        'c',
        "caretaker cassier chairman chairperson chairwoman chairwomen chargee cheffe cheffin chercheu chirurg clerk co-founder coach cofounder \
         columnist comercial commercialist comptabl concejal conseill consulent consultan consultor contabil contable contador coordenad coordina \
         coordonat corrector corredor correspondent corretor councillor councilor counsellor counselor cuisini cuoc curateur curator",
    ),
    (
        'd',
        "danisman deacon dean dentist developer diakon dierenarts dietist directeur director directric direktor direktur diretor direttor direttric \
         dirigent disenador djelatnik docente docteur doctor dokter doktor domprost dono dottor dozent dyrektor dyrygent",
    ),
    (
        'e',
        "ecrivain editor educat eduka egitmen eigenaar eigenaresse eigentumer einkaufer ejer ekonom electrician elektriker elnok encargad enfermer \
         engenheir engineer enolog enseignant ensinante entrenador entwickler ergotherap erzieher esimees esperto estilista",
    ),
    (
        'f',
        "fachwirt facilitator farmer fastighetsmaklare fattor firmaleder fisioterapeut fisioterapista fizjoterapeut fondat foredragsholder foreman \
         forestandar forester forfatter forman forschungsleiter fotograf founder freelancer frisor fundador fundator fundatrice fysioterapeut",
    ),
    (
        'g',
        "gardener gartner geolog geometra gerant gerente geschaftsfuhr geschaftsleit gestor gondnok grafic grafik groomer grundare grunder \
         grundlegger guvernor",
    ),
    (
        'h',
        "hairdresser handlaggare harbourmaster hausmeister headmaster headmistress headteacher hebamme hekim historian historiker hoitaja hostess \
         hovmester huisarts husleder hygienist",
    ),
    (
        'i',
        "igazgato imam infirmi ingegner ingenier ingenieur ingenior ingenjor inhaber innehavare insegnant insinoori inspector inspektor instructeur \
         instructor instruktor intendant interpreter intezo investigador inzener inzenier inzenyr inzinier iparos isannoitsija isletmeci",
    ),
    (
        'j',
        "janitor jardineir jardiner jednatel jefa jefe johtaja jornalista journalist juhataja juhatus juriskonsult jurist",
    ),
    (
        'k',
        "kanzler kapelmistrz kapitan kaplan kasserer kassor katechet katibu kauffrau kaufmann keittiomestari kellermeister kepala ketua kierown \
         kinesi kineziter kirjanpitaja kirkeverge kokki kommunikationsans konatel konferansjer konsulent konsult kontorist konyvelo koordinaat \
         koordinat koordynat korrespondent kouc kouluttaja ksiegow kuafor kuchar kuchmistrz kunnanjohtaja kunsthistoriker kurator kurucu kustos",
    ),
    (
        'l',
        "laakari laborant laege laerer lakare landlord landwirt lastnik lawyer lecturer ledare leder leerkracht lehrer lehtori leiter lekar lektor \
         leraar lerare lerer libraire librari lijecnik lijecnik likar livreir loodgieter luthier",
    ),
    (
        'm',
        "maestr majitel maklare makler manager manajer maraicher marangoz marketingleiter matron mayor meccanic mechanic mechanik medarbejder medecin \
         medewerker mediador mediateur mediator medic mekaniker menedzer meneja menezer midwife mistostarosta mitarbeiter mjolnare mkurugenzi \
         moderator mokytoj moniteur monitora monteur mudiru mudur muellim muhasebeci muhendis murarz musicolog musiker mwenyekiti",
    ),
    (
        'n',
        "nadleznik naprapat nastavnik nauczyciel notai notar novinar nurse nutricionist nutritionist",
    ),
    (
        'o',
        "obfrau obmann obrtnik odontolog odvetni odvjetni oenolog officer ogretim ogretmen okonom ombud omistaja oncolog ondernemer ontwerper \
         operador opetaja opettaja ophthalm optician opticien optik optometrist ordforande ordforer organisator organiser organizator organizer \
         organizzat ortopedi osteopat oversetter owner",
    ),
    (
        'p',
        "paallikko paralegal parroc pastor patronne pediatr pekar pembina pemilik pendiri pengarah pengerusi pengurus penningmeester pfarrer \
         pharmacien pharmacist photograph physician physiotherap pianist pintor pirmininkas pirmininke pisarz plumber podolog poradca poradce postdoc \
         potter pracowni practicien prasident prawnik predseda predsedni predsjedni presedint presenter president prezes prezydent priekssedetaj \
         priest proboszcz prodavac prodejce producent producer produttor profesor professeur professor programador projectleider projektant \
         projektled projektleiter prokurist proprietair proprietari proprietor provozovatel psicolog psihoterap psycholog psychotherap psykolog \
         publicist publisher puheenjohtaja",
    ),
    (
        'r',
        "raadgever rabbi racunovo radca radgivare radgiver radni ravatelj ravintolapaallikko ravnatelj realtor recepcionist recepcni receptionist \
         rechtsanwalt recruiter rector redacteur redactor redactric redaktionsleitung redaktor redattor reditel referent regionalleiter regisseur \
         regista registrar reiseleiter rektor repetitor reporter representant representative researcher responsabile responsable responsavel \
         restaurateur restaurator revisor riaditel rukovodi rzecznik",
    ),
    (
        's',
        "sachbearbeit sales-manager salesman saleswoman saljare sanitar savininkas schatzmeister schriftfuhrer scientist scrittor secretaire \
         secretari secretary sefu segretari sekretaer sekretar sekreter serveur setiausaha sihteeri sindac sindico sjef sjukskoterska skipper \
         skogvokter skolechef skribent skuespiller snickare snikker sociolog solicitor soltys sommelier sorumlu sous-chef specialist specjalist \
         spetsialist spezialist spokesman spokesperson spokeswoman spolocnik spravca spravce sprecher starosta starostka stedfortraeder stellvertret \
         steuerberater stolar stylist styreleder styremedlem styrer sunnittelija superintendent supervisor surgeon surveyor suunnittelija \
         sygeplejerske sykepleier szakacs szef szerkeszto szervezo",
    ),
    (
        't',
        "tajemnik tajnica tajnik tajomnik tanacsado tanar tandarts tandlaege tandlakare tannlege teacher technician technicien techniker tecnica \
         tecnico tecnolog temsilci terapeut terapevt terapist tesorer tesorier tesoureir therapeut therapist tierarzt tischler titkar titolare \
         titular tohtori toimistosihteeri toimittaja toimitusjohtaja traducteur traductor trainee trainer translator treasurer trener tresorier \
         trustee tulajdonos tutkija tutor",
    ),
    (
        'u',
        "ucetni ucitel uctovni ugyintezo ugyved ugyvezeto underviser unternehmer upravitel upravnik urednica urednik uzletvezeto uzman",
    ),
    (
        'v',
        "vaditaj vadovas vadove vadybinink vaktmastare vaktmester valdes vastaava vedouci veduci veilleur vendedor venditor verantwortlich vereador \
         verger verkaufer verkaufsleiter verkehrsleiter verksamhetschef verloskundige vermittler verpleegkundige vertegenwoordiger vertreter \
         verwalter veterinair veterinar vicar vice-chair vice-president vicepresident vigneron viinimestari vinbonde vinhandlare violinist violist \
         violoncell viticult vizeprasident vlasni vlastnik vodic voditel vodja voorzitter vorarbeiter vorsitz vorstand",
    ),
    (
        'w',
        "waiter warden webmaster wedstrijdleider wethouder wicedyrektor wiceprezes winemaker winzer wirtin wlasciciel wojt writer wspolzalozyciel \
         wydawca",
    ),
    ('y', "yazar yonetici yonetmen yrittaj"),
    (
        'z',
        "zaakvoerder zahnarzt zakladatel zalozyciel zarzadc zastepca zastupce zdravnik ziekenverzorg zorgverlener zubar",
    ),
    ('α', "αντιπροεδρ αρχισυντακτ αρχιτεκτον"),
    ('γ', "γιατρ γραμματε"),
    ('δ', "δασκαλ δημαρχ διαχειριστ διευθυν δικηγορ"),
    ('ε', "εκδοτ εκπαιδευτ επιμελητ"),
    ('ι', "ιατρ ιδιοκτητ ιδρυτ"),
    ('κ', "καθηγητ κτηνιατρ"),
    ('λ', "λογιστ"),
    ('μ', "μελισσοκομ μηχανικ"),
    ('ξ', "ξεναγ"),
    ('ο', "οδοντιατρ οινολογ"),
    ('π', "παθολογ προεδρ"),
    ('σ', "σεφ συμβουλ συνεταιρ συνιδρυτ συντονιστ"),
    ('τ', "ταμια"),
    ('υ', "υπαλληλ υπευθυν"),
    ('φ', "φυσικοθεραπευτ"),
    ('ψ', "ψυχολογ"),
    ('а', "автор агент агроном адвокат администратор архитектор"),
    ('б', "библиотекар бухгалтер"),
    (
        'в',
        "ведущ ветеринар викладач владелец владелиц власни воспитател врач вчител",
    ),
    ('г', "гид голова головн готвач"),
    ('д', "дизайнер директор доцент"),
    ('е', "експерт"),
    ('з', "заведующ завуч завідувач заместител засновни"),
    ('и', "инженер"),
    ('к', "керівни кмет консультант координатор куратор"),
    ('л', "лекар логист лікар"),
    ('м', "мастер мајстор менаџер менеджер мениджър методист мэр"),
    ('н', "настоятел начальни нотариус"),
    ('о', "оператор основател"),
    (
        'п',
        "педагог повар помощник помічник предсе президент преподавател продавец продюсер професор психолог",
    ),
    ('р', "редактор риелтор руководител ръководител рієлтор"),
    (
        'с',
        "свещеник священник секретар собственик специалист староста стоматолог счетоводител",
    ),
    ('т', "терапевт техник технолог тренер треньор"),
    ('у', "управител управля уредник учител учредител"),
    ('ш', "шеф"),
    ('э', "эколог экскурсовод эксперт"),
    ('ю', "юрист"),
];

/// Words that are what somebody does only as they are.
const WHOLE: &str = "agent agente arts asci associate autor baker barista broker buyer cap capitaine capitano capo captain cco ceo cfo chair chef cio ciso clerc \
 cmo colaborador comercial commercial conductor coo cook counsel cpo cro cto deputy designer direktion docent docenta docente dono doyen \
 driver duena dueno evp executive expert experte geschaftsleitung gf giam gm governor guardian guia guide head hlavni hoofd hostess imam \
 indehaver juge kantor kapitan kierowca kok kurator lead lector leitung luthier maestro maire maitre maklare md mechanik meister mentor \
 mestari mester mestre minister monitor monitora msgr naczelna naczelny orvos owner partner partnerin patron patronne perito pflegeleitung \
 pilot planner pm porte-parole prest principal prokura promotor redaktion regent rzecznik sef sefu sekr sjef soci socia socio soltys \
 sous-chef steward szef technik vd vendeur vendeuse vet vicar voluntario volunteer vp wethouder wirt wojt";

/// Ends of such words, in languages that join words: `Restaurantleiterin`, `markkinointijohtaja`.
const ENDS: &[&str] = &[
    "leiter",
    "leiterin",
    "fuhrer",
    "fuhrerin",
    "berater",
    "beraterin",
    "arzt",
    "arztin",
    "anwalt",
    "anwaltin",
    "meister",
    "meisterin",
    "sprecher",
    "sprecherin",
    "pfleger",
    "pflegerin",
    "therapeut",
    "therapeutin",
    "verwalter",
    "lehrer",
    "lehrerin",
    "direktor",
    "direktorin",
    "referent",
    "referentin",
    "inhaber",
    "inhaberin",
    "kaufmann",
    "kauffrau",
    "beauftragte",
    "beauftragter",
    "vertreter",
    "vertreterin",
    "betreuer",
    "betreuerin",
    "leder",
    "sjef",
    "mester",
    "mastare",
    "ansvarig",
    "ansvarlig",
    "sekreterare",
    "ledare",
    "radgiver",
    "radgivare",
    "larer",
    "larare",
    "medarbejder",
    "medarbeider",
    "medarbetare",
    "forsaljare",
    "saljare",
    "kopare",
    "selger",
    "saelger",
    "formand",
    "leider",
    "medewerker",
    "ondersteuner",
    "adviseur",
    "beheerder",
    "directeur",
    "verkoper",
    "johtaja",
    "paallikko",
    "sihteeri",
    "lehtori",
    "mestari",
    "tohtori",
    "hoitaja",
    "laakari",
    "vastaava",
    "insinoori",
    "asiantuntija",
    "suunnittelija",
    "ohjaaja",
    "opettaja",
    "professori",
    "tutkija",
    "koordinaattori",
    "myyja",
    "juht",
    "juhataja",
    "vezeto",
    "igazgato",
    "szervezo",
    "orvos",
    "titkar",
    "mernok",
    "felelos",
    "elnok",
    "asszisztens",
    "orvosa",
    "tanar",
    "specialist",
    "konsulent",
    "koordinator",
    "kokk",
    "koch",
    "kochin",
];

/// Most characters behind a stem, and ends that make something else than a person of it.
const END_CHARACTERS_MAX: usize = 7;
const THINGS: &[&str] = &[
    "y", "ies", "ate", "ship", "ships", "ive", "praxis", "buro", "team", "atelier", "kantoor",
    "um", "ium",
];

/// Whether a word (in lower case, without accents) says what somebody does.
pub(super) fn is_role_word(word: &str) -> bool {
    if word.split('-').count() > 1
        && word
            .split('-')
            .any(|part| part.len() > 2 && is_role_part(part))
    {
        return true;
    }
    is_role_part(word)
}

fn is_role_part(word: &str) -> bool {
    let Some(first) = word.chars().next() else {
        return false;
    };
    let row = STEMS.iter().find(|(letter, _)| *letter == first);
    // What is longer is a place or a thing: `Huisartsenpraktijk`, `directory`.
    let is_many = word.ends_with("ers") || word.ends_with("ors") && !word.contains('k');
    let is_person =
        |end: &str| !is_many && end.chars().count() <= END_CHARACTERS_MAX && !THINGS.contains(&end);
    let begins = row.is_some_and(|(_, stems)| {
        let mut ends = stems
            .split_ascii_whitespace()
            .filter_map(|stem| word.strip_prefix(stem));
        ends.any(is_person)
    });
    begins
        || WHOLE.split_ascii_whitespace().any(|whole| whole == word)
        || word.len() > 7 && ENDS.iter().any(|end| word.ends_with(end))
}
