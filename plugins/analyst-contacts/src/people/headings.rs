//! Headings above people: of sections, and of columns.

use std::collections::HashSet;

use super::fold::plain_word;
use super::lines::{EDGE, Line, Place};

/// Words of headings above lists of people, the start of a word being enough.
pub(super) fn is_team_heading(text: &str) -> bool {
    const STEMS: &[&str] = &[
        "team",
        "staff",
        "people",
        "personnel",
        "mitarbeit",
        "ansprechpartner",
        "equipe",
        "equipo",
        "equip",
        "zespol",
        "osoby",
        "tym",
        "csapat",
        "munkatars",
        "echip",
        "ekib",
        "ekip",
        "henkilo",
        "committee",
        "board",
        "councillor",
        "trustee",
        "vorstand",
        "tiimi",
        "meeskond",
        "tootaja",
        "ομαδα",
        "προσωπικο",
        "команда",
        "сотрудник",
        "коллектив",
        "екип",
        "коман",
        "bestuur",
        "medarbet",
        "medarbejd",
        "ansatte",
        "anstallda",
        "kontaktperson",
        "colaborador",
        "personale",
        "komanda",
        "darbuotoj",
        "leadership",
    ];
    const SIGNS: &[&str] = &[
        "团队",
        "團隊",
        "スタッフ",
        "直员",
        "직원",
        "임직원",
        "فريق",
        "צוות",
        "टीम",
        "ทีม",
        "メンバー",
    ];
    text.split([' ', EDGE]).any(|word| {
        let word = plain_word(word);
        STEMS.iter().any(|stem| word.starts_with(stem))
    }) || SIGNS.iter().any(|sign| text.contains(sign))
}

/// Tables and columns whose heading says `name`, beside one that says what is known of people.
pub(super) fn name_columns(lines: &[&Line]) -> HashSet<(u32, u16)> {
    const NAMES: &[&str] = &[
        "name",
        "nom",
        "nombre",
        "nome",
        "naam",
        "navn",
        "namn",
        "nimi",
        "nazwisko",
        "imie",
        "jmeno",
        "meno",
        "nev",
        "nume",
        "ime",
        "ad",
        "adi",
        "isim",
        "nimetus",
        "vardas",
        "vards",
        "ονομα",
        "ονοματεπωνυμο",
        "имя",
        "фио",
        "имена",
        "име",
        "ім'я",
        "піб",
        "姓名",
        "氏名",
        "名前",
        "이름",
        "성명",
        "الاسم",
        "שם",
        "नाम",
        "ชื่อ",
    ];
    const OTHERS: &[&str] = &[
        "title",
        "position",
        "role",
        "funktion",
        "function",
        "fonction",
        "funzione",
        "ruolo",
        "cargo",
        "puesto",
        "functie",
        "stilling",
        "befattning",
        "roll",
        "tehtava",
        "nimike",
        "stanowisko",
        "funkcja",
        "funkce",
        "pozice",
        "beosztas",
        "functia",
        "gorev",
        "unvan",
        "telefon",
        "phone",
        "tel",
        "telephone",
        "telefono",
        "telefone",
        "puhelin",
        "email",
        "e-mail",
        "mail",
        "sahkoposti",
        "θεση",
        "τηλεφωνο",
        "должность",
        "телефон",
        "посада",
        "длъжност",
        "职位",
        "職稱",
        "電話",
        "电话",
        "役職",
        "직책",
        "전화",
        "المنصب",
        "الهاتف",
        "תפקיד",
        "extension",
        "department",
        "abteilung",
        "amt",
        "telefoon",
        "funktio",
        "pareigos",
        "amats",
    ];
    let says = |text: &str, words: &[&str]| {
        text.split([' ', EDGE, '/', '-'])
            .any(|word| words.contains(&plain_word(word).as_str()))
    };
    let is_header = |line: &&&Line| {
        matches!(
            line.place,
            Place::Cell {
                is_heading: true,
                ..
            }
        )
    };
    let tables: HashSet<u32> = lines
        .iter()
        .filter(is_header)
        .filter(|line| says(&line.text, OTHERS))
        .map(|line| line.group)
        .collect();
    lines
        .iter()
        .filter(is_header)
        .filter(|line| tables.contains(&line.group) && says(&line.text, NAMES))
        .filter_map(|line| match line.place {
            Place::Cell { column, .. } => Some((line.group, column)),
            _ => None,
        })
        .collect()
}
