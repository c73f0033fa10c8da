//! Names, cards and lines, then one small page for each class of page with the people on it.

use super::*;
use crate::emails;

#[test]
fn names_differ_from_headings() {
    for name in [
        "Lena Hofstätter",
        "Denise R. Calloway",
        "Ludwig van Beethoven",
        "Jean-Luc O'Neill",
        "José da Silva",
    ] {
        assert!(is_name(name), "{name}");
    }
    for text in [
        "Contact Us",
        "Our Team",
        "Lena",
        "about the company",
        "LOGIN HERE NOW",
        "Managing Broker",
        "Room 12",
        "Acme GmbH",
    ] {
        assert!(!is_name(text), "{text}");
    }
}

#[test]
fn cards_may_be_nested() {
    let link = "<a href=mailto:ann@acme.de>x</a>";
    for (html, expected) in [
        (
            format!("<div><h3>Ann Lee</h3><p>CEO</p>{link}</div>"),
            "Ann Lee",
        ),
        (
            format!("<div><h3>Ann Lee</h3>{link}<h3>Jo Vance</h3></div>"),
            "",
        ),
        (
            format!(
                "<div><div><h3>Ann Lee</h3>{link}</div><h3>Jo Vance</h3><h4>Eva West</h4></div>"
            ),
            "Ann Lee+Jo Vance+Eva West",
        ),
    ] {
        let page = trawl_sdk::testkit::page(&html);
        let document = page.document();
        let mut people = People::default();
        cards(&Page::read(&document), &[], &mut people);
        let names: Vec<String> = people.found.into_iter().map(|person| person.name).collect();
        assert_eq!(names.join("+"), expected, "{html}");
    }
}

#[test]
fn lines_with_roles_name_people() {
    for (line, expected) in [
        (
            "Geschäftsführer: Matthias Brandner, Dr. Sabine Köhler",
            "Matthias Brandner+Sabine Köhler",
        ),
        ("CEO: Ann Lee", "Ann Lee"),
        ("VD: Karin Lindqvist, 070-123 45 67", "Karin Lindqvist"),
        ("代表取締役\t山田 太郎", "山田 太郎"),
        ("Vertreten durch: Jan Ost und Eva West", "Jan Ost+Eva West"),
        (
            "Avv. Marco Ferri, Avv. Giulia Conti",
            "Marco Ferri+Giulia Conti",
        ),
        ("Praxis Dr. med. Amelie Vogt, Hauptstraße 5a", "Amelie Vogt"),
        ("Contact: sales office", ""),
        ("CEO: our leader", ""),
    ] {
        let mut people = People::default();
        role_line(line, &mut people);
        titled(line, &mut people);
        let names: Vec<String> = people.found.into_iter().map(|person| person.name).collect();
        assert_eq!(names.join("+"), expected, "{line}");
    }
}

fn check(html: &str, expected: &str) {
    let page = trawl_sdk::testkit::page(html).url("https://www.acme.example/");
    let document = page.document();
    let page = Page::read(&document);
    let emails = emails::find(&page, html);
    let people = find(&page, &[], &emails);
    let names: Vec<&str> = people.iter().map(|person| person.name.as_str()).collect();
    assert_eq!(names.join("+"), expected, "{html}");
}

#[test]
fn a_role_next_to_a_name_makes_a_person() {
    for (html, expected) in [
        (
            "<figcaption><strong>Dr. med. vet. Nele Ohlen</strong><br>Inhaberin, Tierärztin</figcaption>",
            "Nele Ohlen",
        ),
        (
            "<div><h4>Ilinca Pop</h4><p>medic veterinar, 0731 904 286</p></div>",
            "Ilinca Pop",
        ),
        (
            "<div><span>Head of Sales</span><h4>Ann Lee</h4></div>",
            "Ann Lee",
        ),
        (
            "<li><b>Marloes van den Eijnde</b>, huisarts (ma, di)</li>",
            "Marloes van den Eijnde",
        ),
        (
            "<p>Séf: Barna Levente<br>Üzletvezető: Kiss-Tóth Emese</p>",
            "Barna Levente+Kiss-Tóth Emese",
        ),
        (
            "<p>Cards (form 41/1). Junior coordinator: Brett Mulgrew, mob. 1",
            "Brett Mulgrew",
        ),
        ("<p>Cell. Ilaria Nardini (titolare) 348", "Ilaria Nardini"),
        (
            "<p>Opinnoissa palvelee opintosihteeri Maaret Ikäheimo huoneessa 4.",
            "Maaret Ikäheimo",
        ),
        ("<p>Our head of sales is Ann Lee.", "Ann Lee"),
        (
            "<p>Requests reach our data protection officer, Kadri-Liis Õuna, at once.",
            "Kadri-Liis Õuna",
        ),
        (
            "<p>The Clerk is Mrs Philippa Hesketh-Rowe. She works here.",
            "Philippa Hesketh-Rowe",
        ),
        (
            "<p>Skriv till Malin Åkesson, inköpare, på malin@acme.example.com",
            "Malin Åkesson",
        ),
        (
            "<html lang=hu><p>Rendezvények: Halmos Dorottya rendezvényszervező, +36 20 517 8346",
            "Halmos Dorottya",
        ),
        ("<p>Director: MEREDITH AUCOIN", "MEREDITH AUCOIN"),
        (
            "<table><tr><th>President</th><td>Leanne Fair</td></tr></table>",
            "Leanne Fair",
        ),
        (
            "<dl><dt>Luc Bertholet</dt><dd>Vigneron</dd></dl>",
            "Luc Bertholet",
        ),
        (
            "<li>Ελένη Παπαδοπούλου – υπεύθυνη πωλήσεων",
            "Ελένη Παπαδοπούλου",
        ),
        ("<p>Главный редактор: Анна Петрова", "Анна Петрова"),
        ("<li>سلمان الدوغان – المدير العام", "سلمان الدوغان"),
        ("<li>園主　林茂雄", "林茂雄"),
        ("<p>広報担当：宮ノ下 千鶴（東京事務所）", "宮ノ下 千鶴"),
        ("<p>대표이사: 김민수", "김민수"),
    ] {
        check(html, expected);
    }
}

#[test]
fn lines_of_one_kind_are_all_people() {
    for (html, expected) in [
        (
            "<div><div class=c><h6>Ana Vila</h6><p>Directora</p></div><div class=c><h6>Iker Zaba</h6><p>Suelo pélvico</p></div></div>",
            "Ana Vila+Iker Zaba",
        ),
        (
            "<table><tr><td>Bo Vance</td><td>notaris</td></tr><tr><td>Eva West</td><td>vastgoed</td></tr></table>",
            "Bo Vance+Eva West",
        ),
        (
            "<h2>Our team</h2><ul><li>Bo Vance, Leeds<li>Eva Rock, Hull</ul>",
            "Bo Vance+Eva Rock",
        ),
        (
            "<table><tr><th>Nimi</th><th>Puhelin</th></tr><tr><td>Bo Vance</td><td>1</td></tr></table>",
            "Bo Vance",
        ),
        (
            "<p>Write to Ann Lee or Bo Vance: ann.lee@acme.com, bvance@acme.com",
            "Ann Lee+Bo Vance",
        ),
    ] {
        check(html, expected);
    }
}

#[test]
fn places_companies_and_products_are_no_people() {
    for html in [
        "<h2>Sales Manager</h2><p>London Office</p>",
        "<p>Our evacuation partner, SkyRanger Medevac, is near.",
        "<p>Huisartsenpraktijk De Brinkhof<br>Brinkgang 17",
        "<p>The Responsible Financial Officer works here.",
        "<p>Provozovatel: Zelený Důl s.r.o.",
        "<p>RPR Gent, director",
        "<nav><ul><li>Ann Lee<li>Director</ul></nav>",
        "<ul class=main-menu><li>Ann Lee<li>Director</ul>",
        "<ul><li>Blue Mug – 12.00<li>Red Plate – 14.00</ul>",
        "<table><tr><th>Name</th><th>Price</th></tr><tr><td>Mara Ware</td><td>12</td></tr></table>",
        "<p>Trá Bháin Trio, Dolan Bellows and the Melodeon Seven",
        "<h3>Personal Real Estate Corporation</h3><a href=mailto:ann@acme.com>ann</a>",
        "<p>فندق الرياض الكبير: هاتف",
        "<p>商号：有限会社潮見亭",
        "<h3>Partner Program</h3><p>Become a distributor",
        "<div><h4>Web Design</h4><p>For managers and owners</p></div><div><h4>Brand Strategy</h4><p>For founders</p></div>",
        "<ul><li>Haus Seeblick, Bad Homburg<li>Villa Toscana, Siena</ul>",
        "<table><tr><td>Filiale Nord</td><td>030 1234567</td></tr><tr><td>Filiale Bonn</td><td>0228 123456</td></tr></table>",
        "<p>Director of Marketing (North America)<br>Berlin, Germany",
        "<h2>Customer Support</h2><p>Account Manager</p><h2>Press Office</h2><p>Editor</p>",
        "<p>Pago con Visa, Maestro. Director Comercial: vacante",
        "<p>Published by Copper Basin Ledger Publishing Co., editor",
        "<li>Architekturbüro Schmidt Weber GmbH, Architekten",
        "<p>Rechtsanwälte Müller Schmidt Partner mbB",
        "<dl><dt>Check In</dt><dd>15:00</dd><dt>Parking Space</dt><dd>free</dd></dl>",
        "<ul><li>Lake Como – tour with guide<li>Monte Rosa – tour with guide</ul>",
        "<p>Editor's note: Great Britain won.",
    ] {
        check(html, "");
    }
}
