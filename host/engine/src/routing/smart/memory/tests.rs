use super::*;

const SHELL: Verdict = Verdict::NeedsBrowser(Rule::EmptyShell);

#[test]
fn a_host_is_expected_to_need_a_browser_after_several_pages_in_a_row() {
    let (memory, now) = (HostMemory::default(), Instant::now());
    for _ in 0..PAGES_IN_A_ROW {
        assert_eq!(memory.expects_browser("a.example", now), None);
        memory.note("a.example", SHELL, now);
    }
    assert_eq!(
        memory.expects_browser("a.example", now),
        Some(Rule::EmptyShell)
    );
    assert_eq!(memory.expects_browser("b.example", now), None);
}

#[test]
fn now_and_then_a_page_is_tried_without_a_browser() {
    let (memory, now) = (HostMemory::default(), Instant::now());
    let learn = || (0..PAGES_IN_A_ROW).for_each(|_| memory.note("a.example", SHELL, now));
    learn();
    for _ in 0..3 {
        for _ in 0..PAGES_AT_ONCE {
            assert!(memory.expects_browser("a.example", now).is_some());
        }
        assert_eq!(memory.expects_browser("a.example", now), None);
    }
    // It needs one again.
    memory.note("a.example", SHELL, now);
    assert!(memory.expects_browser("a.example", now).is_some());
    // It does not.
    memory.note("a.example", Verdict::Enough, now);
    assert_eq!(memory.expects_browser("a.example", now), None);
}

#[test]
fn one_page_that_was_enough_speaks_against_a_browser_until_it_is_forgotten() {
    let (memory, now) = (HostMemory::default(), Instant::now());
    for _ in 0..PAGES_IN_A_ROW {
        memory.note("a.example", SHELL, now);
    }
    memory.note("a.example", Verdict::Enough, now);
    for _ in 0..PAGES_IN_A_ROW {
        memory.note("a.example", SHELL, now + Duration::from_secs(1));
    }
    assert_eq!(memory.expects_browser("a.example", now), None);
    let later = now + MEMORY_AGE_MAX;
    for _ in 0..PAGES_IN_A_ROW {
        memory.note("a.example", SHELL, later);
    }
    assert!(memory.expects_browser("a.example", later).is_some());
}

#[test]
fn an_expectation_ends_with_its_age_and_starts_anew() {
    let (memory, now) = (HostMemory::default(), Instant::now());
    for _ in 0..PAGES_IN_A_ROW {
        memory.note("a.example", SHELL, now);
    }
    let before = now + MEMORY_AGE_MAX - Duration::from_secs(1);
    assert!(memory.expects_browser("a.example", before).is_some());
    let after = now + MEMORY_AGE_MAX;
    assert_eq!(memory.expects_browser("a.example", after), None);
    memory.note("a.example", SHELL, after);
    assert_eq!(memory.expects_browser("a.example", after), None);
}

#[test]
fn redirects_say_nothing_of_their_host() {
    let (memory, now) = (HostMemory::default(), Instant::now());
    for _ in 0..PAGES_IN_A_ROW {
        memory.note(
            "a.example",
            Verdict::NeedsBrowser(Rule::ScriptRedirect),
            now,
        );
    }
    assert_eq!(memory.expects_browser("a.example", now), None);
}

#[test]
fn memory_is_bounded_and_retains_the_last_seen_hosts() {
    let (memory, now) = (HostMemory::default(), Instant::now());
    for number in 0..HOSTS_MAX * 3 {
        let host = format!("host-{number}.example");
        for _ in 0..PAGES_IN_A_ROW {
            memory.note(&host, SHELL, now);
        }
        assert!(memory.len() <= HOSTS_MAX);
    }
    let last = format!("host-{}.example", HOSTS_MAX * 3 - 1);
    assert!(memory.expects_browser(&last, now).is_some());
    assert_eq!(memory.expects_browser("host-0.example", now), None);
    memory.note(&"x".repeat(300), SHELL, now);
    assert!(memory.len() <= HOSTS_MAX);
}
