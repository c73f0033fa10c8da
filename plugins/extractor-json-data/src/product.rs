//! The product of a page, normalized from any source.

use serde_json::{Map, Number, Value};
use trawl_embedded::has_type;

/// A JSON object.
type Object = Map<String, Value>;

/// Types that are products.
const PRODUCT_TYPES: [&str; 8] = [
    "Product",
    "ProductGroup",
    "ProductModel",
    "IndividualProduct",
    "SomeProducts",
    "Vehicle",
    "Car",
    "ProductWithOffers",
];

/// Maximum number of items examined per answer.
const ITEMS_MAX: usize = 100_000;

/// Maximum number of images.
const IMAGES_MAX: usize = 50;

/// Sources whose values may contain schema.org items.
const JSON_SOURCES: [&str; 9] = [
    "json_ld",
    "next_data",
    "nuxt",
    "redux_state",
    "sveltekit",
    "remix",
    "next_flight",
    "window_state",
    "other_scripts",
];

/// The product in the collected data: `name`, `description`, `url`, `image` (list), `brand`,
/// `category`, `color`, `sku`, `mpn`, `gtin`, `offers` (`price`, `low_price`, `high_price`,
/// `currency`, `availability`, `condition`) and `rating` (`value`, `count`, `best`), as far as
/// known. Fields missing in the first source are filled in from the next ones. `None` if there is
/// no product.
pub(crate) fn find(found: &Object) -> Option<Value> {
    let mut product = Object::new();
    for source in JSON_SOURCES {
        if let Some(value) = found.get(source)
            && let Some(item) = best(value)
        {
            fill(&mut product, item);
            break;
        }
    }
    for source in ["microdata", "rdfa"] {
        let items = found.get(source).and_then(Value::as_array);
        let items: Vec<Value> = items
            .into_iter()
            .flatten()
            .take(ITEMS_MAX)
            .map(as_json_ld)
            .collect();
        if let Some(item) = best(&Value::Array(items)) {
            fill(&mut product, item);
        }
    }
    if let Some(Value::Object(open_graph)) = found.get("open_graph")
        && (!product.is_empty() || is_product(open_graph))
    {
        fill(&mut product, &of_open_graph(open_graph));
    }
    product
        .contains_key("name")
        .then_some(Value::Object(product))
}

/// The first product in a value; a product with an offer is preferred.
fn best(value: &Value) -> Option<&Object> {
    let is_product = |item: &&Object| has_type(item, &PRODUCT_TYPES);
    let items = || trawl_embedded::items(std::slice::from_ref(value)).take(ITEMS_MAX);
    let offered = |item: &Object| {
        ["offers", "hasVariant"]
            .iter()
            .any(|key| item.contains_key(*key))
    };
    let first = items().find(is_product)?;
    if offered(first) {
        Some(first)
    } else {
        items()
            .filter(is_product)
            .find(|item| offered(item))
            .or(Some(first))
    }
}

/// Converts a microdata or RDFa item to JSON-LD. The depth of items is limited, so the recursion is
/// bounded.
fn as_json_ld(item: &Value) -> Value {
    let Some(properties) = item.get("properties").and_then(Value::as_object) else {
        return item.clone();
    };
    let list = |values: &Value| match values {
        Value::Array(values) => Value::Array(values.iter().map(as_json_ld).collect()),
        other => as_json_ld(other),
    };
    let mut object: Object = properties
        .iter()
        .map(|(name, values)| (name.clone(), list(values)))
        .collect();
    object.insert("@type".to_owned(), item["type"].clone());
    Value::Object(object)
}

fn is_product(open_graph: &Object) -> bool {
    let kind = open_graph
        .get("og:type")
        .and_then(trawl_embedded::string)
        .unwrap_or_default();
    let is_kind = ["product", "og:product", "product.item", "product.group"];
    is_kind.iter().any(|name| kind.eq_ignore_ascii_case(name))
        || open_graph.contains_key("product:price:amount")
}

/// Open Graph properties under their schema.org names.
fn of_open_graph(open_graph: &Object) -> Object {
    const NAMES: [(&str, &str); 10] = [
        ("name", "og:title"),
        ("description", "og:description"),
        ("url", "og:url"),
        ("image", "og:image"),
        ("brand", "product:brand"),
        ("category", "product:category"),
        ("color", "product:color"),
        ("sku", "product:retailer_item_id"),
        ("gtin", "product:ean"),
        ("mpn", "product:mfr_part_no"),
    ];
    const OFFER_NAMES: [(&str, [&str; 2]); 4] = [
        ("price", ["product:price:amount", "og:price:amount"]),
        (
            "priceCurrency",
            ["product:price:currency", "og:price:currency"],
        ),
        ("availability", ["product:availability", "og:availability"]),
        ("itemCondition", ["product:condition", "og:condition"]),
    ];
    let named =
        |(name, key): &(&str, &str)| Some(((*name).to_owned(), open_graph.get(*key)?.clone()));
    let mut product: Object = NAMES.iter().filter_map(named).collect();
    let offered = |(name, keys): &(&str, [&str; 2])| {
        let value = keys.iter().find_map(|key| open_graph.get(*key))?;
        Some(((*name).to_owned(), value.clone()))
    };
    let offer: Object = OFFER_NAMES.iter().filter_map(offered).collect();
    if !offer.is_empty() {
        product.insert("offers".to_owned(), Value::Object(offer));
    }
    product
}

/// Fills in missing fields from a schema.org item.
fn fill(product: &mut Object, item: &Object) {
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value
            && !product.contains_key(name)
        {
            product.insert(name.to_owned(), value);
        }
    };
    for name in [
        "name",
        "description",
        "brand",
        "category",
        "color",
        "sku",
        "mpn",
    ] {
        set(name, text(item, name));
    }
    set(
        "url",
        text(item, "url")
            .or_else(|| text(item, "@id"))
            .filter(is_url),
    );
    let gtins = ["gtin", "gtin13", "gtin12", "gtin14", "gtin8", "ean", "isbn"];
    set("gtin", gtins.into_iter().find_map(|name| text(item, name)));
    set("image", images(item));
    set("offers", offers(item));
    set("rating", rating(item));
}

fn is_url(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|text| text.starts_with("http") || text.starts_with('/'))
}

/// The text of a property: its value, or the name of the item it refers to.
fn text(item: &Object, name: &str) -> Option<Value> {
    let value = item.get(name)?;
    plain(value).map(|text| Value::from(trawl_embedded::decode_entities(&text).into_owned()))
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => Some(number.to_string()),
        Value::Array(values) => values.iter().find_map(plain),
        Value::Object(object) => {
            let named = ["name", "@value", "url"]
                .into_iter()
                .find_map(|key| object.get(key));
            named.and_then(trawl_embedded::string).map(str::to_owned)
        }
        other => trawl_embedded::string(other).map(str::to_owned),
    }
}

/// URLs of the images.
fn images(item: &Object) -> Option<Value> {
    let image = item.get("image")?;
    let several = match image {
        Value::Array(images) => images.as_slice(),
        one => std::slice::from_ref(one),
    };
    let url = |image: &Value| match image {
        Value::Object(object) => ["contentUrl", "url", "@id"].into_iter().find_map(|key| {
            object
                .get(key)
                .and_then(trawl_embedded::string)
                .map(Value::from)
        }),
        other => trawl_embedded::string(other).map(Value::from),
    };
    let mut images: Vec<Value> = several.iter().take(IMAGES_MAX).filter_map(url).collect();
    images.dedup();
    (!images.is_empty()).then_some(Value::Array(images))
}

/// The first offer with a price; for a product group, that of a variant.
fn offers(item: &Object) -> Option<Value> {
    let offers = ["offers", "hasVariant"]
        .into_iter()
        .find_map(|key| item.get(key))?;
    let all = || trawl_embedded::items(std::slice::from_ref(offers)).take(ITEMS_MAX);
    let has_price = |offer: &&Object| {
        ["price", "lowPrice", "priceSpecification"]
            .iter()
            .any(|key| offer.contains_key(*key))
    };
    let offer = all().find(has_price).or_else(|| all().next())?;
    let specification = offer.get("priceSpecification").map(std::slice::from_ref);
    let specification = specification
        .and_then(|value| trawl_embedded::items(value).find(|item| item.contains_key("price")));
    let places = [Some(offer), specification];
    let value = |name: &str| {
        places
            .into_iter()
            .flatten()
            .find_map(|place| place.get(name))
            .and_then(plain)
    };
    let mut found = Object::new();
    for (name, key) in [
        ("price", "price"),
        ("low_price", "lowPrice"),
        ("high_price", "highPrice"),
    ] {
        found.extend(value(key).map(|price| (name.to_owned(), amount(&price))));
    }
    found.extend(
        value("priceCurrency").map(|currency| ("currency".to_owned(), Value::from(currency))),
    );
    for (name, key) in [
        ("availability", "availability"),
        ("condition", "itemCondition"),
    ] {
        found.extend(value(key).map(|term| (name.to_owned(), Value::from(short(&term)))));
    }
    (!found.is_empty()).then_some(Value::Object(found))
}

fn rating(item: &Object) -> Option<Value> {
    let rating = item.get("aggregateRating").map(std::slice::from_ref)?;
    let rating = trawl_embedded::items(rating).next()?;
    let mut found = Object::new();
    for (name, keys) in [
        ("value", ["ratingValue", "ratingValue"]),
        ("count", ["reviewCount", "ratingCount"]),
        ("best", ["bestRating", "bestRating"]),
    ] {
        let value = keys
            .into_iter()
            .find_map(|key| rating.get(key))
            .and_then(plain);
        found.extend(value.map(|value| (name.to_owned(), amount(&value))));
    }
    found.contains_key("value").then_some(Value::Object(found))
}

/// The number in a text, otherwise the text itself: the format of `1.299,00` depends on the locale.
fn amount(text: &str) -> Value {
    match text.trim().parse::<Number>() {
        Ok(number) => Value::Number(number),
        Err(_) => Value::from(text),
    }
}

/// A term without the URL of its vocabulary: `InStock`.
fn short(term: &str) -> &str {
    term.rsplit(['/', '#'])
        .next()
        .filter(|name| !name.is_empty())
        .unwrap_or(term)
}
