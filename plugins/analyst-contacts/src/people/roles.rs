//! What people are called for what they do.

use super::runs;

/// What people are in lines such as `CEO: Ann Lee`, lower case.
const ROLES: &[&str] = &[
    "geschäftsführer",
    "geschäftsführerin",
    "geschäftsführung",
    "geschäftsführender gesellschafter",
    "vertreten durch",
    "vertretungsberechtigt",
    "vertretungsberechtigter geschäftsführer",
    "inhaber",
    "inhaberin",
    "vorstand",
    "vorstandsvorsitzender",
    "vorsitzender",
    "ansprechpartner",
    "ansprechpartnerin",
    "kontaktperson",
    "redaktion",
    "verantwortlich",
    "ceo",
    "cto",
    "cfo",
    "coo",
    "founder",
    "co-founder",
    "owner",
    "managing director",
    "director",
    "president",
    "chair",
    "chairman",
    "secretary",
    "contact person",
    "contact",
    "manager",
    "general manager",
    "principal",
    "editor",
    "author",
    "gérant",
    "gérante",
    "directeur",
    "directrice",
    "directeur de la publication",
    "directrice de la publication",
    "responsable",
    "président",
    "présidente",
    "titolare",
    "amministratore",
    "amministratore unico",
    "legale rappresentante",
    "direttore",
    "administrador",
    "gerente",
    "director general",
    "titular",
    "responsável",
    "diretor",
    "prezes",
    "prezes zarządu",
    "właściciel",
    "vd",
    "verkställande direktör",
    "direktør",
    "daglig leder",
    "jednatel",
    "ügyvezető",
];
/// More of them, in other scripts and languages.
const ROLES_TOO: &[&str] = &[
    "代表取締役",
    "代表取締役社長",
    "代表者",
    "店長",
    "担当者",
    "대표",
    "대표이사",
    "대표자",
    "法定代表人",
    "联系人",
    "генеральный директор",
    "директор",
    "руководитель",
    "toimitusjohtaja",
    "director manager",
    "administrator",
    "bestuurder",
    "zaakvoerder",
    "yetkili kişi",
    "υπεύθυνος",
];

pub(super) fn is_role_label(label: &str) -> bool {
    let label = label.to_lowercase();
    let plain = label
        .replace("(in)", "")
        .replace(":in", "")
        .replace("*in", "");
    let plain = plain.trim();
    ROLES.contains(&plain) || ROLES_TOO.contains(&plain)
}

pub(super) fn is_role(text: &str) -> bool {
    ROLES.contains(&text.to_lowercase().as_str()) || runs::is_role(text)
}
