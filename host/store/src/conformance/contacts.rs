//! The suite of [`ContactStore`], on a store with the accounts `acc_1` and `acc_2`.

use trawl_model::clock::Timestamp;

use super::fixtures::account;
use crate::{CONTACT_PAGES_MAX, Contact, ContactStore, PageRange, Rows};

fn contact(domain: &str, value: &str, pages: &[&str], at: i64) -> Contact {
    Contact {
        domain: domain.to_owned(),
        kind: "email".to_owned(),
        value: value.to_owned(),
        details: format!("{{\"at\":{at}}}"),
        pages: pages.iter().map(|&page| page.to_owned()).collect(),
        first_seen: Timestamp(at),
        last_seen: Timestamp(at),
    }
}

fn contact_of_many(n: usize) -> Contact {
    contact("c.com", &format!("{n}@c.com"), &["https://c.com/"], 1)
}

pub(crate) async fn contacts_are_merged_and_listed(store: &dyn ContactStore) {
    let (one, two) = (account(1).id, account(2).id);
    let all = PageRange::offset(10, 0);
    assert_eq!(
        store.contacts(&one, None, all).await.expect("none"),
        Rows {
            rows: Vec::new(),
            count: 0,
            next: None,
        }
    );
    let found = [
        contact("a.com", "x@a.com", &["https://a.com/1"], 10),
        contact("b.com", "x@a.com", &["https://b.com/"], 11),
    ];
    assert_eq!(store.save_contacts(&one, &found).await.expect("saved"), 0);
    let seen_again = [contact(
        "a.com",
        "x@a.com",
        &["https://a.com/1", "https://a.com/2"],
        20,
    )];
    assert_eq!(
        store.save_contacts(&one, &seen_again).await.expect("saved"),
        0
    );
    let listed = store.contacts(&one, None, all).await.expect("a list");
    assert_eq!(listed.count, 2);
    let merged = Contact {
        first_seen: Timestamp(10),
        ..contact(
            "a.com",
            "x@a.com",
            &["https://a.com/1", "https://a.com/2"],
            20,
        )
    };
    assert_eq!(listed.rows, [merged.clone(), found[1].clone()]);
    let first = PageRange::offset(1, 0);
    let listed = store
        .contacts(&one, Some("a.com"), first)
        .await
        .expect("a list");
    assert_eq!((listed.count, listed.rows), (1, vec![merged]));
    let second = PageRange::offset(10, 1);
    let listed = store.contacts(&one, None, second).await.expect("a list");
    assert_eq!((listed.count, listed.rows.len()), (2, 1));
    let listed = store.contacts(&one, None, first).await.expect("a list");
    let rest = PageRange::after(9, listed.next.expect("there are more"));
    let listed = store.contacts(&one, None, rest).await.expect("a list");
    assert_eq!((listed.rows, listed.next), (vec![found[1].clone()], None));
    assert_eq!(
        store.contacts(&two, None, all).await.expect("none").count,
        0
    );

    let many: Vec<String> = (0..300).map(|n| format!("https://a.com/{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let everywhere = [contact("a.com", "x@a.com", &many, 5)];
    store.save_contacts(&one, &everywhere).await.expect("saved");
    let listed = store
        .contacts(&one, Some("a.com"), first)
        .await
        .expect("a list");
    let contact = &listed.rows[0];
    assert_eq!(contact.pages.len(), CONTACT_PAGES_MAX);
    assert_eq!(
        (contact.first_seen, contact.last_seen),
        (Timestamp(5), Timestamp(20))
    );

    let many: Vec<Contact> = (0..1_201).map(contact_of_many).collect();
    for _ in 0..2 {
        assert_eq!(store.save_contacts(&two, &many).await.expect("saved"), 0);
        assert_eq!(
            store.contacts(&two, None, all).await.expect("a list").count,
            1_201
        );
    }
}
