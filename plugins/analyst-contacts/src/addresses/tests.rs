use super::forms::forms;
use super::lines::in_line;
use crate::phones::Region;

/// Country, line (after the line above it and ` / `), `street|postal code|town|region`.
const CASES: &str = "\
DE > Acme · 2024 · 10115 Berlin > Acme, 2024|10115|Berlin|
DE > Lindenallee 14 / 04109 Leipzig > Lindenallee 14|04109|Leipzig|
DE > Praxis Vogt, Hauptstraße 5a, 79098 Freiburg im Breisgau > Hauptstraße 5a|79098|Freiburg im Breisgau|
CH > Länggassstrasse 31, CH-3012 Bern > Länggassstrasse 31|3012|Bern|
FR > SARL au capital de 15 000 €, 12 rue de la République, 69002 Lyon > 12 rue de la République|69002|Lyon|
ES > Calle Mayor, 8, 28013 Madrid, España > Calle Mayor, 8|28013|Madrid|
NL > Keizersgracht 215, 1016 DV Amsterdam > Keizersgracht 215|1016 DV|Amsterdam|
PL > ul. Długa 27/3 / 31-147 Kraków > ul. Długa 27/3|31-147|Kraków|
CZ > Dlouhá 730/35, 110 00 Praha 1. IČO: 27082440 > Dlouhá 730/35|110 00|Praha 1|
US > 118 Commercial St, Suite 4, Portland, ME 04101-4738 > 118 Commercial St, Suite 4|04101-4738|Portland|ME
AU > Unit 3/14 Harbour Road, Wollongong NSW 2500 > Unit 3/14 Harbour Road|2500|Wollongong|NSW
IN > 135 Brigade Road, Bengaluru 560025, Karnataka > 135 Brigade Road|560025|Bengaluru|
BR > Av. Paulista, 1578 - Bela Vista, São Paulo - SP, 01310-200 > Av. Paulista, 1578, Bela Vista|01310-200|São Paulo|SP
FR > 18 bis, avenue de Messine – 75008 Paris. Standard : 01 > 18 bis, avenue de Messine|75008|Paris|
MX > Av. Insurgentes Sur 1234, Col. Del Valle, 03100 Ciudad de México > Av. Insurgentes Sur 1234, Col. Del Valle|03100|Ciudad de México|
IE > Glenmore House, Sea Road, Galway, H91 E2X4, Ireland > |H91 E2X4|Galway|
GB > 10 High Street, London SW1A 1AA > 10 High Street|SW1A 1AA|London|
GB > 12, Baker Street, London W1U 2NS > 12, Baker Street|W1U 2NS|London|
GB > 86 Leonard Street, London, EC2A 4BX > 86 Leonard Street|EC2A 4BX|London|
AR > San Martín 1250, M5500 Mendoza > San Martín 1250|M5500|Mendoza|
AR > Av. Corrientes 1234, 1043 Buenos Aires > Av. Corrientes 1234|1043|Buenos Aires|
IN > 14, MG Road, Fort, Mumbai - 400001, Maharashtra > 14, MG Road, Fort|400001|Mumbai|
UA > 01001, м. Київ, вул. Хрещатик, 22 > вул. Хрещатик, 22|01001|Київ|
UA > Адреса: 79008, Україна, Львівська обл., Львів, пл. Ринок, буд. 1 > пл. Ринок, буд. 1|79008|Львів|
UA > вул. Хрещатик, 22, 01001 Київ > вул. Хрещатик, 22|01001|Київ|
UA > вул. Хрещатик, 22 / 01001 Київ > вул. Хрещатик, 22|01001|Київ|
RU > 101000, г. Москва, ул. Мясницкая, д. 5, стр. 1 > ул. Мясницкая, д. 5|101000|Москва|
RU > 101000 Москва, Ленинский проспект 5 > Ленинский проспект 5|101000|Москва|
SA > 7277 King Fahd Road, Al Olaya, Riyadh 12212 > 7277 King Fahd Road, Al Olaya|12212|Riyadh|
SA > 8228 Prince Turki Rd, Riyadh 12344-3456, Saudi Arabia > 8228 Prince Turki Rd|12344-3456|Riyadh|
SA > P.O. Box 1234, Riyadh 11564, Saudi Arabia > P.O. Box 1234|11564|Riyadh|
SA > شارع العليا 7277، الرياض 12212 > شارع العليا 7277|12212|الرياض|
AE > P.O. Box 12345, Dubai, UAE > P.O. Box 12345||Dubai|
AE > Al Moosa Tower 2, Sheikh Zayed Road, PO Box: 12345, Dubai U.A.E. > PO Box 12345||Dubai|
AE > P.O. Box 4567 Abu Dhabi United Arab Emirates > P.O. Box 4567||Abu Dhabi|
QA > Al Jazi Tower 12, Doha, P.O. Box 3050, Qatar > Al Jazi Tower 12, P.O. Box 3050||Doha|
AE > Dubai, PO Box 333, Tel: +971 4 222 2222 > PO Box 333||Dubai|
AE > Gate Village 5, DIFC, Dubai, P.O. Box 506555 > P.O. Box 506555||Dubai|
JP > 所在地\t〒150-0002 東京都渋谷区渋谷2-21-1 > 渋谷2-21-1|150-0002|東京都渋谷区|
US > 86 Leonard Street, London, EC2A 4BX > 86 Leonard Street|EC2A 4BX|London|
GB > London / W1U 2NS > |W1U 2NS|London|
DE > 12, Baker Street, London W1U 2NS > 12, Baker Street|W1U 2NS|London|";

#[test]
fn lines_with_postal_codes_are_addresses() {
    for case in CASES.lines() {
        let columns: Vec<&str> = case.split(" > ").collect();
        let [home, text, expected] = columns[..] else {
            panic!("{case}");
        };
        let (above, line) = text.split_once(" / ").unwrap_or(("", text));
        let homes: Vec<Region> = Region::of(home).into_iter().collect();
        let address = in_line(line, above, "", &forms(&homes)).unwrap_or_default();
        let parts = [
            address.street,
            address.postal_code,
            address.city,
            address.region,
        ];
        let found = parts.map(Option::unwrap_or_default).join("|");
        assert_eq!(found, expected, "{case}");
    }
}

#[test]
fn other_numbers_are_no_postal_codes() {
    let homes: Vec<Region> = ["DE", "US"]
        .iter()
        .filter_map(|code| Region::of(code))
        .collect();
    for line in [
        "12345 Besucher im Jahr",
        "Auftrag 04109 vom Montag",
        "Top 10000 sites of 2024",
        "The model Kuga X5 3AB",
        "P.O. Box 12345, Dubai",
    ] {
        assert_eq!(in_line(line, "", "", &forms(&homes)), None, "{line}");
    }
}

#[test]
fn a_code_without_a_street_or_a_box_without_a_number_is_no_address() {
    let homes: Vec<Region> = ["UA", "AE"]
        .iter()
        .filter_map(|code| Region::of(code))
        .collect();
    for line in [
        "01001, м. Київ, замовлення прийнято",
        "Замовлення 01001, Київ, вул. Хрещатик, 22",
        "The PO box of Dubai",
        "Expo box 12345, Dubai",
        "P.O. Box 12345",
    ] {
        assert_eq!(in_line(line, "", "", &forms(&homes)), None, "{line}");
    }
}
