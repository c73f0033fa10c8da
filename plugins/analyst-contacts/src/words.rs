//! Words of many languages around e-mail addresses and phone numbers: lists for
//! [`analyst_base::lists`], in lower case.

/// Words in front of phone numbers. A word of four bytes or more also fits as the start of another.
pub(crate) const PHONES: &str = "\
    tel telephone phone ph call ring hotline helpline freephone tollfree toll-free t p o office \
    direct reception switchboard landline telefon fon anrufen ruf durchwahl zentrale \
    telefonnummer festnetz kundenservice telefono teléfono llámanos reservas central telefone \
    sac téléphone tél appelez fixe tlf tfn kundtjänst chiamaci fisso bel telefoon puhelin puh \
    sími τηλ τηλέφωνο тел телефон звоните 電話 電話番号 代表 电话 전화 대표전화 هاتف تلفن טלפון טל फ़ोन โทร telp \
    telpon telefón téléfon kundeservice vakttelefon telefonszám ტელ हाथ दूरभाष मुफ़्त फोन gratis \
    gratuita gratuito gratuit gratuite kostenlos kostenfrei gebührenfrei bezpłatna bezpłatny \
    infolinia bezplatná bezplatna infolinka ústředna besplatni ilmaisnumero freecall infoline \
    ücretsiz бесплатно безкоштовно безплатен tālrunis tālr centrāle telepon telepono telefown \
    ffôn fón guthán simu foon ফোন فون հեռ утас โทรศัพท์ đt sđt linija centralė központ centrala \
    sentralbord växel omstilling bezmaksas nemokama nemokamas tasuta ilmainen brezplačna \
    brezplačni besplatan ingyenes percuma";

/// Words in front of mobile numbers; they count if none of [`PHONES`] fits.
pub(crate) const MOBILES: &str = "\
    mobile mob cell whatsapp m mobil handy cellulare cel celular móvil gsm portable telemóvel \
    kom κιν моб matkapuhelin נייד جوال موبايل мобільний мобильный κινητό 携帯 手机 手機 휴대폰 mobitel \
    mobiel mobiili komórka cep มือถือ मोबाइल همراه mobilais mobilusis mobiil sel mobilný mobilná \
    mobilní mobilni";

/// Words in front of fax numbers.
pub(crate) const FAXES: &str = "\
    الفاكس فاكس facs faxen telefaxnummer φαξ f faksimile fax faxed telefax دورنگار نمابر faksi \
    faksimili faksin telefaksi telecopie télécopie télécopieur פקס फैक्स ファックス ფაქსი 팩스 faksas \
    fakss faks faksu telefaks факс แฟกซ์ โทรสาร факсу 传真 傳真";

/// Words in front of other numbers, also as part of a hyphenated word.
pub(crate) const OTHERS: &str = "\
    dič ico ičo účtu cvr art artikel artikelnummer auftrag auftragsnr auftragsnummer \
    bestellnummer bestellung fn handelsregister hra hrb karte konto kontonr koordinaten modell \
    rechnung referenz registernummer steuernr steuernummer uid ust ustid abn account acct acn \
    asin bic build card case cin company coordinates crn ean ein gps gst gstin gtin iban id \
    invoice isbn issn item job lat lng lon mls model mpn order orders org part ref reference \
    registered registration serial sku sort ssn swift tax ticket tracking upc uuid vat ver \
    version cif cuenta factura nif pedido rfc ape commande compte facture rcs rna siren siret \
    tva conto iva ordine rea bestelling btw kvk mva krs nip regon cnpj cpf бик инн кпп огрн \
    bankgiro moms orgnr plusgiro 统一社会信用代码";

/// Words in front of other numbers, only as a whole word.
pub(crate) const OTHERS_ALONE: &str = "\
    sériové aktenzeichen ausweis az bankverbindung beispiel bsp datum id-nr kapital kundennummer \
    lizenz mitgliedsnummer plz preis seit seriennummer stand termin terminnr umsatz $ capital \
    chf chip copyright date doi e.g eur example folio ip lic licence license num parcel passport \
    patent permit pin pmid port price published reg released since updated usd zip £ ¥ € cvu \
    ejemplo hoja licencia precio serie tomo cadastre depuis dossier exemple matricule prix rnet \
    série esempio matricola polis polisnr serienummer voorbeeld koncesja licencja exemplo \
    matrícula р/с счет paybill mersis sicil vergi";

/// Words for `number`, which need another label in front of them.
pub(crate) const NUMBERS: &str = "nr nummer no number nº número numéro n° numero №";

/// Units and currencies after a number.
pub(crate) const UNITS: &str = "\
    chf cm dkk eur euro euros g gb gbp kb kg km kr m mb mm ms m² nok pln px ron rub sek usd kč \
    acres ft hours items people sq sqft users views zł lei р руб tl";

/// Words in front of an extension; the first match counts.
pub(crate) const EXTENSIONS: &str = "\
    durchwahl dw extension ext. ext extn x anexo poste interno int. 内線 분기 toestel wew. wewn. \
    ramal linha доб. доб anknytning 内线";

/// Words for `@` in brackets.
pub(crate) const ATS: &str = "\
    zavinac zavináč snabela æt klammeraffe ät παπάκι arroba miukumauku ätmärk arobas arobase \
    כרוכית שטרודל afna majmun kukac chiocciola アット アットマーク 골뱅이 apenstaartje alfa-krøll alfakrøll \
    krøllalfa małpa собака собачка snabel-a kuyruklu кльомба песик равлик 艾特 آت affe et @ a at \
    at-sign ät-merkki malpa arond snabel 圈a 小老鼠";

/// Words for the dot in brackets.
pub(crate) const DOTS: &str = "\
    pilka ponta نقطة tečka punkt τελεία dot piste point נקודה tacka tačka tocka pont titik punto \
    ドット 닷 taškas punkts punt kropka ponto punct точка bodka točka nokta крапка chấm dott . 점 bod \
    点 點";

/// Parts of patterns such as `firstname.lastname`.
pub(crate) const PLACEHOLDERS: &str = "\
    име презиме фамилно jmeno prijmeni efternavn familienname nachname vorname zuname eponymo \
    onoma επωνυμο ονομα familyname first firstinitial firstname forename fullname givenname \
    initial last lastname middlename name surname username yourname apellido apellidos nombre \
    primerapellido eesnimi perekonnanimi perenimi etunimi sukunimi nom nomdefamille prenom ime \
    prezime csaladnev keresztnev utonev vezeteknev nama namabelakang namadepan tennimi cognome \
    nome pavarde vardas uzvards vards achternaam familienaam voornaam etternavn fornavn \
    mellomnavn imie nazwisko apelido sobrenome ultimonome nume numele prenume familiya imya имя \
    фамилия meno priezvisko priimek efternamn fornamn ad adi isim soyad soyadi soyisim прізвище \
    ho ten vornamenachname firstlast firstnamelastname nombreapellido prenomnom nomecognome";

/// Local parts of e-mail addresses that only show the format.
pub(crate) const SAMPLES: &str = "\
    abc xxx max.mustermann vorname.nachname email example first.last firstname.lastname jane.doe \
    john.doe mail me name somebody someone user username you your your-name your.email your.name \
    youremail yourname";

/// Domains of e-mail addresses that only show the format.
pub(crate) const SAMPLE_DOMAINS: &str = "\
    company.com domain.com domain.tld email.com example.com example.net example.org mail.com \
    mysite.com site.com website.com your-domain.com yourcompany.com yourdomain.com \
    yourdomain.tld yoursite.com example.de ihredomain.de dominio.com domaine.fr";

/// Domains without real mailboxes.
pub(crate) const NOWHERE: &str = "\
    domain.com domain.tld sentry.io your-domain.com yourcompany.com yourdomain.com \
    yourdomain.tld yoursite.com ihredomain.de";

/// The generic top-level domains that count in running text.
pub(crate) const TOP_LEVEL_DOMAINS: &str = "\
    academy accountant accountants aero africa agency alsace amsterdam apartments app architect \
    arpa art asia attorney auto band bank bar barcelona bayern beauty beer berlin best bike bio \
    biz black blog blue boston brussels builders business bzh cafe capetown capital car care \
    cars cat catering center charity cheap church city clinic clothing cloud club coffee college \
    cologne com community company computer construction consultancy consulting contact cool coop \
    corsica courses cymru deals dental dentist design dev digital directory discount doctor \
    domains durban earth eco edu education email energy engineer engineering enterprises \
    equipment estate eus events example expert farm fashion film finance financial fitness \
    flights flowers foo football foundation frl fun fund gal gallery game games garden gent gift \
    gifts global gmbh gold golf gov green group guide guru hair hamburg haus health healthcare \
    help holiday holidays homes hospital host hosting hotel hotels house icu immo immobilien inc \
    industries info ink institute insurance int international irish ist istanbul jewelry jobs \
    joburg kitchen kiwi koeln kyoto land lat law lawyer legal life limo live llc london love ltd \
    luxury madrid magazine market markets media melbourne miami mil mobi moe money moscow movie \
    museum music nagoya name net network news ngo ninja now nrw nyc okinawa one online org \
    organic osaka page paris partners parts party pharmacy photo photography photos pink pizza \
    place play plus post press pro properties property pub quebec radio realestate red rentals \
    report restaurant review reviews ruhr saarland sale salon school science scot service \
    services shoes shop show site social software solar solutions spa space sport srl store \
    studio supplies supply support surgery swiss sydney systems taipei tatar tax taxi team tech \
    technology tel tennis test theater tirol today tokyo tools top tours town toys trade \
    training travel university vacations vegas ventures vet vip vlaanderen voyage wales web \
    website wedding wien wiki wine work works world wtf xxx xyz yoga zone zuerich";
