use super::*;

fn homes(codes: &[&str]) -> Vec<Region> {
    codes.iter().filter_map(|code| Region::of(code)).collect()
}

fn in_text(text: &str, home: &str) -> Vec<String> {
    let homes = homes(&[home]);
    let mut phones = Phones::default();
    for candidate in candidates::of_text(text) {
        phones.take(&candidate, &homes);
    }
    phones
        .found
        .into_iter()
        .map(|phone| match (phone.kind.as_deref(), phone.extension) {
            (Some("fax"), _) => format!("{} fax", phone.value),
            (_, Some(extension)) => format!("{} x{extension}", phone.value),
            _ => phone.value,
        })
        .collect()
}

/// Country, text (`|` begins a line), numbers in E.164 format.
const NATIONAL: &str = "\
DE > Tel.: 0341 / 12 34 567-0 > +4934112345670
DE > Telefon|030 901820 > +4930901820
DE > Tel. 040 1234567 / 040 1234568 > +49401234567 +49401234568
DE > Telefax: +49 (0) 341 12345-99 > +493411234599 fax
DE > +49 341 1234599 (FAX), und É > +493411234599 fax
DE > Tel./Fax: 0761 385920 > +49761385920
LV > Tālrunis|64417382 > +37164417382
LV > Fakss|64417383 > +37164417383 fax
AT > T: +43 (0)512 890123-14 > +4351289012314
FR > Portable : 06.12.34.56.78 > +33612345678
FR > Port. 06 12 34 56 78 > +33612345678
FR > 0033 6 12 34 56 78 > +33612345678
GB > Call 0117 496 0123 or mobile 07700 900461 > +441174960123 +447700900461
US > Office: 207-555-0142 ext. 12 > +12075550142 x12
US > (207) 555-0142x7 > +12075550142 x7
US > 1.718.555.0175 > +17185550175
IT > Tel. 02 8646 1234 > +390286461234
DK > 86 12 34 56 > +4586123456
BE > Tél 02/513.28.44 > +3225132844
BR > WhatsApp: (11) 91234-5678 > +5511912345678
JP > 電話：０３-１２３４-５６７８ > +81312345678
JP > 電話03-1234-5678 > +81312345678
RU > Тел.: 8 (495) 123-45-67, доб. 12 > +74951234567 x12
EG > هاتف: ٠٢ ٢٧٣٦ ١٢٣٤ > +20227361234
US > Brooklyn: 1.718.555.0175 · 55 Washington Street > +17185550175
IT > Cell. 347 1234567 - Fax 02 8646 1235 > +393471234567 +390286461235 fax
DE > Ruf 030 901820. 12 Tage > +4930901820
US > Phone: +1 (555) 123-4567 > +15551234567";

#[test]
fn numbers_are_found_in_national_notation() {
    for case in NATIONAL.lines() {
        let columns: Vec<&str> = case.split(" > ").collect();
        let [home, text, expected] = columns[..] else {
            panic!("{case}");
        };
        let text = text.replace('|', "\n");
        assert_eq!(in_text(&text, home).join(" "), expected, "{case}");
    }
}

/// Country, and text without a phone number.
const OTHERS: &str = "\
FR > Port 06 12 34 56 78
DK > Telefon: 00 00 00 00
FR > Votre commande comporte neuf chiffres : 417-382-617
DE > Stand: 12.03.2024, 16:45 Uhr
DE > IBAN: DE89 3704 0044 0532 0130 00
DE > Angebot ab 1.299,00 €
DE > USt-IdNr.: DE 281 334 912, Steuernummer: 232/114/07651
DE > Auftragsnummer 2024-0011-4587
DE > Koordinaten 47.26921, 11.40410
FR > SIRET : 512 345 678 00021
US > 192.168.10.24
US > 10/14/2025 2023-08-14 12:30:05 build 20230814123005
US > ISBN 978-3-16-148410-0, card 4111 1111 1111 1111
US > 123e4567-e89b-12d3-a456-426614174000
US > 12,000,000 impressions, 1990-2020
DK > 1990-2020 CVR-nr. 31245678
PL > NIP: 676-123-45-67 KRS: 0000345678
NO > 1 250 000 kr
US > order 2075550142";

#[test]
fn other_numbers_are_not_phones() {
    for row in OTHERS.lines() {
        let (home, text) = row.split_once(" > ").unwrap();
        assert_eq!(in_text(text, home), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn numbers_have_a_national_format_and_a_type() {
    const NUMBERS: &str = "\
        +49 30 901820 | +4930901820 | 030 901820 | DE | fixed_line\n\
        +33612345678 | +33612345678 | 06 12 34 56 78 | FR | mobile\n\
        +1 514 555 0119 | +15145550119 | (514) 555-0119 | CA | fixed_line_or_mobile\n\
        +44 7400 123456 | +447400123456 | 07400 123456 | GB | mobile\n\
        +800 1234 5678 | +80012345678 | 1234 5678 | 001 | toll_free\n\
        +7 495 123-45-67 | +74951234567 | 8 (495) 123-45-67 | RU | fixed_line\n\
        +61 1300 123 456 | +611300123456 | 1300 123 456 | AU | shared_cost";
    for line in NUMBERS.lines() {
        let (text, expected) = line.split_once(" | ").unwrap();
        let number = read(text, &[]).unwrap();
        let (region, kind) = (number.region.to_owned(), number.kind.unwrap_or_default());
        let found = [number.e164(), number.written(), region, kind.to_owned()];
        assert_eq!(found.join(" | "), expected, "{text}");
    }
}

#[test]
fn declared_numbers_need_no_separators() {
    let homes = homes(&["US"]);
    for (text, expected) in [
        ("tel:2075550142", "+12075550142"),
        ("tel:+49-761-385920;ext=4", "+49761385920"),
        ("tel:1-888-555-0134", "+18885550134"),
        ("+1 555 123 4567", "+15551234567"),
    ] {
        assert_eq!(read(text, &homes).unwrap().e164(), expected, "{text}");
    }
    for text in ["tel:", "tel:112", "call us", "+999999999999"] {
        assert_eq!(read(text, &homes), None, "{text}");
    }
}

/// Regions with calling code and an example of each type of number, from libphonenumber.
const EXAMPLES: &str = include_str!("../../data/numbering_plan_examples.txt");

#[test]
fn examples_of_every_plan_survive_a_round_trip() {
    for example in EXAMPLES.split_whitespace() {
        let (region, numbers) = example.split_once('+').unwrap();
        let (code, numbers) = numbers.split_once(':').unwrap();
        for digits in numbers.split(',') {
            let e164 = format!("+{code}{digits}");
            let number = Number::read(&e164, None).unwrap();
            assert_eq!(number.e164(), e164);
            // Regions that share a calling code may share numbers; the first matching plan names
            // them.
            assert!(number.kind.is_some(), "{e164}");
            // The national format is read back.
            let home = Region::of(region).filter(|home| home.code() != "001");
            if let Some(home) = home.filter(|home| home.code() == number.region) {
                let back = Number::read(&digits_of(&number.written()), Some(home));
                assert_eq!(back.map(|back| back.e164()), Some(e164), "{region}");
            }
        }
    }
}
