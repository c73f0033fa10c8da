//! Names and occupations in scripts without capital letters.

use super::runs::Clause;

/// Family names that most names in China, Taiwan and Korea begin with.
const FAMILIES: &str = "王李張张劉刘陳陈楊杨黃黄趙赵吳吴周徐孫孙馬马朱胡林郭何高羅罗鄭郑梁謝谢宋唐許许鄧邓馮冯韓韩曹曾彭蕭萧蔡潘田董袁于余葉叶蔣蒋杜蘇苏魏程呂吕丁沈任姚盧卢傅鍾钟姜崔譚谭廖范汪陸陆金石戴賈贾韋韦夏邱方侯鄒邹熊孟秦白江閻阎薛尹段雷黎史龍龙陶賀贺顧顾毛郝龔龚邵萬万錢钱嚴严賴赖洪武莫孔向湯汤温溫康施文牛樊葛邢安齊齐易喬乔伍龐庞顏颜倪莊庄聶聂章魯鲁岳翟殷詹申歐欧游簡简柯江";
const KOREAN: &str = "김이박최정강조윤장임한오서신권황안송류유홍전고문손양배백허남심노하곽성차주우구민진지엄채원천방공현함변염여추도소석선설마길연위표명기반왕금옥육인맹제모탁국어은편용";

/// What people are called for what they do, in Chinese, Japanese and Korean.
const EASTERN: &[&str] = &[
    "社長",
    "会長",
    "部長",
    "課長",
    "店長",
    "園長",
    "院長",
    "校長",
    "所長",
    "館長",
    "室長",
    "局長",
    "支店長",
    "理事",
    "代表",
    "担当",
    "責任者",
    "取締役",
    "監査役",
    "女将",
    "支配人",
    "料理長",
    "医師",
    "弁護士",
    "税理士",
    "司法書士",
    "教授",
    "講師",
    "主任",
    "編集",
    "主宰",
    "杜氏",
    "職人",
    "店主",
    "園主",
    "農園主",
    "住職",
    "宮司",
    "村長",
    "町長",
    "市長",
    "事務局",
    "経理",
    "总经理",
    "經理",
    "经理",
    "總監",
    "总监",
    "主管",
    "老師",
    "老师",
    "教師",
    "教师",
    "律師",
    "律师",
    "醫師",
    "医生",
    "師傅",
    "创始人",
    "創辦人",
    "創始人",
    "负责人",
    "負責人",
    "联系人",
    "聯絡人",
    "聯繫人",
    "董事",
    "董事長",
    "董事长",
    "秘書",
    "秘书",
    "編輯",
    "编辑",
    "顧問",
    "顾问",
    "專員",
    "专员",
    "工程師",
    "工程师",
    "設計師",
    "设计师",
    "茶師",
    "廚師",
    "厨师",
    "館主",
    "院长",
    "校长",
    "所长",
    "會長",
    "会长",
    "理事長",
    "執行長",
    "营运长",
    "財務長",
    "主編",
    "主编",
    "대표",
    "이사",
    "원장",
    "소장",
    "팀장",
    "실장",
    "부장",
    "과장",
    "차장",
    "사장",
    "회장",
    "점장",
    "교수",
    "변호사",
    "의사",
    "담당",
    "책임자",
    "관장",
    "국장",
    "매니저",
    "디렉터",
    "대리",
    "셰프",
    "간사",
    "강사",
    "총무",
    "編集長",
    "コーチ",
    "シェフ",
    "マネージャー",
    "デザイナー",
    "エンジニア",
    "ディレクター",
    "スタッフ",
    "トレーナー",
    "コーディネーター",
    "オーナー",
    "責任",
    "主人",
    "監督",
    "事務長",
    "師範",
    "棟梁",
    "製茶師",
    "管理者",
    "代表者",
    "園丁",
    "副理",
    "協理",
    "襄理",
    "助理",
    "客服",
    "窗口",
    "講座",
];
/// Last signs of such words.
const EASTERN_ENDS: &str = "長长師师員员監监役士";
/// Signs that stand in names of places and companies, but of nobody.
const EASTERN_STRANGERS: &str = "社店館馆部課课県縣市区區町村円元年月日時时電电話话室号號路街省公司園园校院所係情報报新品料金案内予約会會的是在和了我您";

/// Stems of occupations in other scripts without capitals.
const STEMS: &[&str] = &[
    "مدير",
    "رئيس",
    "مشرف",
    "مهندس",
    "دكتور",
    "محام",
    "مسؤول",
    "منسق",
    "أمين",
    "سكرتير",
    "محاسب",
    "مستشار",
    "مؤسس",
    "طبيب",
    "معلم",
    "أستاذ",
    "مالك",
    "شريك",
    "مصمم",
    "طاه",
    "شيف",
    "نائب",
    "موظف",
    "مدرب",
    "خبير",
    "ممثل",
    "عميد",
    "وكيل",
    "مدیر",
    "رئیس",
    "مسئول",
    "معاون",
    "دبیر",
    "کارشناس",
    "وکیل",
    "پزشک",
    "بنیانگذار",
    "سرپرست",
    "מנהל",
    "מנכ",
    "יו\"ר",
    "מזכיר",
    "עורכ",
    "עורך",
    "רופא",
    "בעל",
    "רכז",
    "סמנכ",
    "מייסד",
    "יועץ",
    "יועצ",
    "אחרא",
    "רואה",
    "שף",
    "מהנדס",
    "אדריכל",
    "מדריכ",
    "מדריך",
    "מורה",
    "पंडित",
    "निदेशक",
    "प्रबंधक",
    "अध्यक्ष",
    "सचिव",
    "संस्थापक",
    "डॉक्टर",
    "प्रधान",
    "शिक्षक",
    "संपादक",
    "अधिकारी",
    "ผู้จัดการ",
    "ผู้อำนวยการ",
    "ประธาน",
    "เลขา",
    "แพทย์",
    "ทนาย",
    "เจ้าของ",
    "หัวหน้า",
    "กรรมการ",
    "อาจารย์",
    "ผู้ก่อตั้ง",
    "เชฟ",
    "ผู้ช่วย",
    "დირექტორ",
    "მენეჯერ",
    "ხელმძღვანელ",
    "დამფუძნებ",
    "მფლობელ",
    "ექიმ",
    "ადვოკატ",
    "გიდ",
    "მზარეულ",
    "ბუღალტერ",
];
/// Titles in front of names in these scripts.
const TITLES: &[&str] = &[
    "د.",
    "أ.",
    "م.",
    "أ.د.",
    "السيد",
    "السيدة",
    "الدكتور",
    "الدكتورة",
    "المهندس",
    "المهندسة",
    "الأستاذ",
    "الأستاذة",
    "الشيخ",
    "ד\"ר",
    "עו\"ד",
    "פרופ'",
    "גב'",
    "מר",
    "श्री",
    "श्रीमती",
    "डॉ.",
    "คุณ",
    "นาย",
    "นาง",
    "นางสาว",
    "ดร.",
];
/// Words of companies and places.
const STRANGERS: &[&str] = &[
    "شركة",
    "مؤسسة",
    "شارع",
    "حي",
    "مدينة",
    "المملكة",
    "العربية",
    "مركز",
    "مكتب",
    "فندق",
    "مطعم",
    "اتصل",
    "بنا",
    "خدمة",
    "خدمات",
    "العملاء",
    "من",
    "في",
    "على",
    "إلى",
    "جميع",
    "الحقوق",
    "محفوظة",
    "قسم",
    "شرکت",
    "خیابان",
    "תמיד",
    "רחוב",
    "חברת",
    "חברה",
    "צור",
    "קשר",
    "שירות",
    "मार्ग",
    "कंपनी",
    "ถนน",
    "บริษัท",
    "ติดต่อ",
    "ქუჩა",
    "კომპანია",
    "جدة",
    "الرياض",
    "القاهرة",
    "دبي",
];

fn is_eastern(character: char) -> bool {
    matches!(character as u32, 0x3005 | 0x3040..=0x30ff | 0x4e00..=0x9fff | 0xac00..=0xd7a3)
}

fn is_han(character: char) -> bool {
    matches!(character as u32, 0x3005 | 0x4e00..=0x9fff)
}

/// Letters of scripts without capitals whose words stand apart: Hebrew, Arabic, those of India, Thai, Georgian.
fn is_caseless(character: char) -> bool {
    matches!(character as u32, 0x05d0..=0x06ff | 0x0900..=0x0e7f | 0x10d0..=0x10ff)
}

/// The name that a clause is, titles aside; `None` for scripts with capitals.
pub(super) fn name(clause: &str) -> Option<&str> {
    let first = clause.chars().next()?;
    if is_eastern(first) {
        return is_eastern_name(clause).then_some(clause);
    }
    if !is_caseless(first) {
        return None;
    }
    let mut rest = clause;
    while let Some((title, after)) = rest.split_once(' ')
        && TITLES.contains(&title)
    {
        rest = after.trim_start();
    }
    is_caseless_name(rest).then_some(rest)
}

fn is_caseless_name(text: &str) -> bool {
    let words = text.split(' ');
    (2..=4).contains(&words.clone().count())
        && text.len() <= 80
        && words.clone().all(|word| {
            word.chars().count() > 1
                && word
                    .chars()
                    .all(|c| is_caseless(c) && !c.is_numeric() || matches!(c, '\'' | '׳' | '-'))
                && !STRANGERS.contains(&word)
        })
        && !is_role(text)
}

fn is_eastern_name(text: &str) -> bool {
    let n_signs = text.chars().filter(|c| *c != ' ').count();
    // With a blank between its parts a name is sure enough for signs that places have too: `市川 一`.
    let strangers = if text.contains(' ') {
        "社店館馆課課電話円株"
    } else {
        EASTERN_STRANGERS
    };
    let has_stranger = text.chars().any(|c| strangers.contains(c));
    if !(2..=7).contains(&n_signs)
        || has_stranger
        || !text.chars().all(|c| is_eastern(c) || c == ' ')
        || is_role(text)
    {
        return false;
    }
    let Some(first) = text.chars().next() else {
        return false;
    };
    if matches!(first as u32, 0xac00..=0xd7a3) {
        return n_signs <= 4
            && KOREAN.contains(first)
            && text
                .chars()
                .all(|c| matches!(c as u32, 0xac00..=0xd7a3) || c == ' ');
    }
    match text.split_once(' ') {
        // `磯部 孝之助`
        Some((family, given)) => {
            (1..=4).contains(&family.chars().count())
                && (1..=4).contains(&given.chars().count())
                && !given.contains(' ')
                && !is_role(family)
                && !is_role(given)
        }
        None => {
            (2..=5).contains(&n_signs)
                && text.chars().all(is_han)
                && (FAMILIES.contains(first) && n_signs <= 3 || n_signs >= 4)
        }
    }
}

/// Whether a clause says what somebody does.
pub(super) fn is_role(clause: &str) -> bool {
    let Some(first) = clause.chars().next() else {
        return false;
    };
    if is_eastern(first) {
        let n_signs = clause.chars().count();
        return n_signs <= 14
            && (EASTERN.iter().any(|word| clause.contains(word))
                || (2..=5).contains(&n_signs)
                    && clause.ends_with(|c| EASTERN_ENDS.contains(c))
                    && !clause.contains(' '));
    }
    is_caseless(first)
        && clause.len() <= 90
        && clause.split(' ').any(|word| {
            let bare = word.trim_start_matches("ال").trim_start_matches('ה');
            STEMS
                .iter()
                .any(|stem| bare.starts_with(stem) || word.starts_with(stem))
        })
}

/// Names beside occupations in the clauses of a line: name and role.
pub(super) fn people<'t>(clauses: &[Clause<'t>]) -> Vec<(&'t str, &'t str)> {
    let mut found = Vec::new();
    for (n, clause) in clauses.iter().enumerate() {
        let has_script = clause
            .text
            .chars()
            .next()
            .is_some_and(|c| is_eastern(c) || is_caseless(c));
        if !has_script {
            continue;
        }
        if let Some(next) = clauses.get(n + 1) {
            match (name(clause.text), name(next.text)) {
                (Some(own), None) if is_role(next.text) => found.push((own, next.text)),
                (None, Some(other)) if is_role(clause.text) && next.mark != '、' => {
                    found.push((other, clause.text));
                }
                _ => {}
            }
        }
        found.extend(in_clause(clause.text));
    }
    found
}

/// `園主 林茂雄`, `山田 太郎 代表取締役`.
fn in_clause(clause: &str) -> Option<(&str, &str)> {
    if !clause.starts_with(is_eastern) || clause.chars().count() > 24 {
        return None;
    }
    let (role, rest) = clause.split_once(' ')?;
    if is_role(role)
        && let Some(name) = name(rest)
    {
        return Some((name, role));
    }
    let (rest, role) = clause.rsplit_once(' ')?;
    Some((name(rest).filter(|_| is_role(role))?, role))
}
