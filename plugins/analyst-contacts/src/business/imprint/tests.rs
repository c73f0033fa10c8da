//! Imprint lines with their numbers and company names.

use super::*;

#[test]
fn imprints_name_their_numbers() {
    let read = |home: &str, line: &str| {
        let homes: Vec<Region> = Region::of(home).into_iter().collect();
        let mut business = Business::default();
        imprint(line, &homes, &mut business);
        business
    };
    for (home, line, vat) in [
        ("DE", "USt-IdNr.: DE 281 334 912", "DE281334912"),
        ("AT", "UID-Nummer: ATU67812345. FN 413258 k", "ATU67812345"),
        (
            "FR",
            "TVA intracommunautaire : FR 40 512345678",
            "FR40512345678",
        ),
        (
            "GB",
            "Company No. 07654321 | VAT No: GB 123 4567 89 | Registered",
            "GB123456789",
        ),
        (
            "IT",
            "P.IVA 01234560157 - C.F. FRRMRC65A01F205X",
            "IT01234560157",
        ),
        ("ES", "CIF B-12345674", "ESB12345674"),
        ("NL", "BTW: NL812345678B01, IBAN NL91", "NL812345678B01"),
        ("BE", "TVA BE 0456.789.123 – IBAN", "BE0456789123"),
        ("PL", "NIP: 676-123-45-67 REGON: 123456785", "PL6761234567"),
        ("SE", "Moms SE556677889901. Bankgiro", "SE556677889901"),
        ("DK", "CVR-nr. 31245678", "DK31245678"),
        ("CZ", "IČO: 27082440, DIČ: CZ27082440", "CZ27082440"),
        ("CH", "CHE-114.556.712 MWST", "CHE114556712"),
        (
            "IE",
            "Open 17 March – 31 October 2025. VAT IE1234567FA",
            "IE1234567FA",
        ),
        ("SK", "IČ DPH\tSK2020123456", "SK2020123456"),
        (
            "ZA",
            "Reg. 2010/012345/07 VAT 4123456789. R 2 450",
            "ZA4123456789",
        ),
    ] {
        assert_eq!(read(home, line).vat_id.as_deref(), Some(vat), "{line}");
    }
    let german = read("DE", "Handelsregister: Amtsgericht Leipzig, HRB 28741");
    assert_eq!(
        german.registration.as_deref(),
        Some("Amtsgericht Leipzig, HRB 28741")
    );
    assert_eq!(
        read("FR", "SIRET : 512 345 678 00021 – RCS")
            .tax_id
            .as_deref(),
        Some("512 345 678 00021")
    );
    assert_eq!(
        read("BR", "CNPJ 12.345.678/0001-95. Av.").tax_id.as_deref(),
        Some("12.345.678/0001-95")
    );
    assert_eq!(
        read("GB", "Company No. 07654321").registration.as_deref(),
        Some("07654321")
    );
}

#[test]
fn names_end_with_legal_forms() {
    for (line, expected) in [
        ("Holzbau Brandner GmbH", Some("Holzbau Brandner GmbH")),
        (
            "Éditeur : Boulangerie Marchetti SARL au capital",
            Some("Boulangerie Marchetti SARL"),
        ),
        (
            "Stolarnia Nowicki Sp. z o.o.",
            Some("Stolarnia Nowicki Sp. z o.o."),
        ),
        ("会社名\t株式会社青空工房", Some("株式会社青空工房")),
        ("We are limited in space", None),
    ] {
        assert_eq!(legal_name(line).as_deref(), expected, "{line}");
    }
}
