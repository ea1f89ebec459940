use super::*;
use crate::catalogue;

const TOP: Seen = Seen {
    is_top: true,
    frame: 1,
    is_anon: true,
};
const LOWER: Seen = Seen {
    is_top: false,
    frame: 2,
    is_anon: true,
};

/// Counters of one page of service `a` after looks every minute and at these seconds, from which on it is as shown.
fn followed(looks: &[(i64, Seen)]) -> impl Fn(&str) -> i64 + use<> {
    let (mut moves, service) = (PageMoves::default(), Arc::<str>::from("host/a"));
    moves.expect([Arc::clone(&service)]);
    let mut page = FollowedPage::new(looks[0].1, looks[0].0 * SECOND_NS);
    for pair in looks.windows(2) {
        let [(from_s, before), (at_s, seen)] = pair else {
            continue;
        };
        for (now_s, seen) in (from_s + 60..*at_s)
            .step_by(60)
            .map(|now_s| (now_s, before))
            .chain([(*at_s, seen)])
        {
            moves.look(&service, &mut page, *seen, now_s * SECOND_NS);
            moves.end_look();
        }
    }
    let values: BTreeMap<String, i64> = moves
        .values()
        .into_iter()
        .map(|(key, value)| (key.as_str().to_owned(), value.unwrap()))
        .collect();
    move |name| {
        let of_host = values[&format!("host|page_moves|{name}")];
        let of_service = values.get(&format!("service:host/a|page_moves|{name}"));
        assert!(of_service.is_none_or(|value| *value == of_host), "{name}");
        of_host
    }
}

#[test]
fn a_page_that_comes_back_within_ten_minutes_went_round() {
    let moved = |back_s: i64| {
        followed(&[
            (0, TOP),
            (700, TOP),
            (800, LOWER),
            (800 + back_s, TOP),
            (3000, TOP),
        ])
    };
    for (back_s, round_trips, within) in [(60, 1, [0, 1, 1, 1]), (600, 1, [0; 4]), (601, 0, [0; 4])] {
        let value = moved(back_s);
        assert_eq!(
            [
                value("demotions[anon]"),
                value("promotions[anon]"),
                value("round_trips[anon]")
            ],
            [1, 1, round_trips],
            "{back_s}"
        );
        let shown = WITHIN_SECONDS.map(|seconds| value(&format!("round_trips_within[{seconds}s]")));
        assert_eq!(shown, within, "{back_s}");
        assert_eq!(value("promotions[file]"), 0);
    }
}

#[test]
fn what_happened_before_is_not_known_of_a_page_that_is_followed_for_less_than_ten_minutes() {
    let value = followed(&[(0, LOWER), (300, TOP), (310, LOWER), (600, TOP), (650, TOP)]);
    assert_eq!([value("promotions[anon]"), value("demotions[anon]")], [0, 0]);
    assert_eq!(value("followed_us[anon]"), 50_000_000);
}

#[test]
fn frames_that_change_within_their_tier_make_moves_unsure() {
    let other = Seen { frame: 9, ..TOP };
    let value = followed(&[(0, TOP), (700, TOP), (715, other), (730, other)]);
    assert_eq!([value("unsure_moves[anon]"), value("promotions[anon]")], [1, 0]);
    // Two pages on slower memory for each in the top tier: twice as many may look promoted.
    let mut counts = Counts {
        looked: [10, 20],
        changed: [3, 1],
        ..Counts::default()
    };
    counts.end_look();
    assert_eq!(counts.unsure_moves as i64, 7);
}

#[test]
fn promotions_of_one_page_count_as_one_of_many() {
    let there_and_back = [(700, TOP), (715, LOWER), (730, TOP), (745, LOWER), (760, TOP)];
    let value = followed(&[&[(0, TOP)], &there_and_back[..]].concat());
    assert_eq!(
        [value("promotions[anon]"), value("promotions_squared[anon]")],
        [2, 4]
    );
}

#[test]
fn every_counter_is_in_the_catalogue() {
    let mut moves = PageMoves::default();
    moves.expect(["host/a", "host/b", "host/a"].map(Arc::from));
    let values = moves.values();
    assert_eq!(values.len(), 3 * 12 + 4);
    assert!(values.is_sorted_by(|a, b| a.0 < b.0));
    for (key, _) in values {
        let (_, source, name) = key.parts();
        assert!(catalogue::find(source, name).is_some(), "{name}");
    }
}

#[test]
fn services_come_and_go_and_the_host_goes_on() {
    let mut moves = PageMoves::default();
    let mut page = FollowedPage::new(TOP, 0);
    moves.expect(["host/a"].map(Arc::from));
    for minute in 1..20 {
        moves.look("host/a", &mut page, TOP, minute * 60 * SECOND_NS);
    }
    let followed_us = |moves: &PageMoves, scope: &str| {
        let key = format!("{scope}|page_moves|followed_us[anon]");
        moves
            .values()
            .iter()
            .find(|(own, _)| own.as_str() == key)
            .map(|(_, value)| value.unwrap())
    };
    assert_eq!(followed_us(&moves, "service:host/a"), Some(9 * 60_000_000));
    moves.expect(["host/a", "host/b"].map(Arc::from));
    assert_eq!(followed_us(&moves, "service:host/a"), Some(9 * 60_000_000));
    moves.expect([]);
    assert_eq!(followed_us(&moves, "service:host/a"), None);
    assert_eq!(followed_us(&moves, "host"), Some(9 * 60_000_000));
}
