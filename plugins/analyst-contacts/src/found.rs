//! The findings of a page, in the form of the answer.

use serde::{Deserialize, Serialize};

/// The findings of one page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Found {
    /// E-mail addresses, in page order.
    pub emails: Vec<Email>,
    /// Phone numbers.
    pub phones: Vec<Phone>,
    /// Profiles on social networks.
    pub social: Vec<Social>,
    /// People that structured data or a model names, with their roles.
    pub people: Vec<Person>,
    /// Postal addresses.
    pub addresses: Vec<Address>,
    /// The business behind the page.
    pub business: Business,
}

/// An e-mail address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Email {
    /// The e-mail address, its domain in lower case.
    pub value: String,
    /// Where it was found: `mailto`, `text`, `obfuscated`, `script`, `attribute`, `cloudflare`,
    /// `reversed`, `json_ld`, `microdata`, `model`.
    pub sources: Vec<String>,
    /// Name of its owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A phone number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Phone {
    /// The number in E.164 format: `+4930901820`.
    pub value: String,
    /// The number in national format: `030 901820`.
    pub national: String,
    /// ISO 3166-1 alpha-2 code; `None` for numbers of no country.
    pub country: Option<String>,
    /// Type: `fixed_line`, `mobile`, `fixed_line_or_mobile`, `toll_free`, `premium_rate`,
    /// `shared_cost`, `personal`, `voip`, `uan`, `fax`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Extension.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extension: Option<String>,
    /// Whether a label of the page says that it is not a fax number.
    #[serde(skip)]
    pub(crate) is_labelled: bool,
}

/// A profile on a social network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Social {
    /// Name of the network in lower case: `linkedin`.
    pub network: String,
    /// Canonical URL of the profile.
    pub url: String,
    /// Handle on the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
}

/// A person.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Person {
    /// Name as written on the page.
    pub name: String,
    /// Role or occupation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// E-mail address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Phone number in E.164 format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
}

/// A postal address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Address {
    /// The whole address in one line.
    pub text: String,
    /// Street and house number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub street: Option<String>,
    /// Postal code as written on the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postal_code: Option<String>,
    /// Town.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub city: Option<String>,
    /// State or province.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Country as written on the page, or its ISO 3166-1 alpha-2 code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
}

/// A business.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Business {
    /// Trading name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Registered name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub legal_name: Option<String>,
    /// VAT number with its country prefix, without blanks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vat_id: Option<String>,
    /// Number given by a tax or statistics office, other than a VAT number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tax_id: Option<String>,
    /// Entry in a company register.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registration: Option<String>,
    /// Opening hours in schema.org notation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub opening_hours: Vec<String>,
    /// URL of its website.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}
