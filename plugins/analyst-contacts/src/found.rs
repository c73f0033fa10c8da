//! What is found on a page, as it is answered.

use serde::{Deserialize, Serialize};

/// Everything found on one page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Found {
    /// E-mail addresses, in page order.
    pub emails: Vec<Email>,
    /// Phone numbers.
    pub phones: Vec<Phone>,
    /// Profiles on social networks.
    pub social: Vec<Social>,
    /// People with their roles.
    pub people: Vec<Person>,
    /// Postal addresses.
    pub addresses: Vec<Address>,
    /// The business that the page speaks for.
    pub business: Business,
}

/// An e-mail address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Email {
    /// The address; its domain is lower case.
    pub value: String,
    /// How it was found: `mailto`, `text`, `entity`, `obfuscated`, `script`, `attribute`, `cloudflare`, `reversed`, `json_ld`, `microdata`,
    /// `hcard`, `model`.
    pub sources: Vec<String>,
    /// Whose it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A phone number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Phone {
    /// E.164: `+4930901820`.
    pub value: String,
    /// As it is written in its country: `030 901820`.
    pub national: String,
    /// ISO 3166 code of two letters; none for numbers of no country.
    pub country: Option<String>,
    /// `fixed_line`, `mobile`, `fixed_line_or_mobile`, `toll_free`, `premium_rate`, `shared_cost`, `personal`, `voip`, `uan`, `fax`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// What is dialled behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extension: Option<String>,
    /// Whether a word of the page called it something else than a fax.
    #[serde(skip)]
    pub(crate) is_labelled: bool,
}

/// A profile on a social network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Social {
    /// Lower-case name of the network: `linkedin`.
    pub network: String,
    /// Address of the profile in one form.
    pub url: String,
    /// Name of the profile there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
}

/// Somebody.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Person {
    /// Name as the page writes it.
    pub name: String,
    /// What they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Their e-mail address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Their phone number, E.164.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
}

/// A postal address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Address {
    /// The whole, in one line.
    pub text: String,
    /// Street and number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub street: Option<String>,
    /// Postal code as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postal_code: Option<String>,
    /// Town.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub city: Option<String>,
    /// State or province.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Country, as written or as an ISO 3166 code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
}

/// A business.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Business {
    /// Name it goes by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Name in the register.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub legal_name: Option<String>,
    /// VAT number with its country's letters, without blanks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vat_id: Option<String>,
    /// Other number of a tax office or statistics office.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tax_id: Option<String>,
    /// Entry in a register of companies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registration: Option<String>,
    /// Opening hours in the form of schema.org.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub opening_hours: Vec<String>,
    /// The business's own page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

impl Business {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
