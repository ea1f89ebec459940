//! Parsers of shared line shapes survive any text, and give back what was written.
#![allow(missing_docs, reason = "the names of tests are sentences")]

use proptest::prelude::*;
use tierscope_rootfs::text;

/// Text made of the pieces that kernel files are made of, in any order.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\n".to_owned()),
        Just(" ".to_owned()),
        Just(":".to_owned()),
        Just("=".to_owned()),
        Just("-".to_owned()),
        Just(",".to_owned()),
        Just(" kB".to_owned()),
        Just("Node 1 ".to_owned()),
        Just("N0=".to_owned()),
        Just("some total=".to_owned()),
        Just("9223372036854775807".to_owned()),
        Just("18446744073709551616".to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
        "\\PC{0,4}",
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_text_breaks_a_parser(text in pieces()) {
        let ignore = |_: &str, _: i64| {};
        let _ = text::name_values(&text, ignore);
        let _ = text::colon_values(&text, ignore);
        let _ = text::node_values(&text, ignore);
        let _ = text::pressure_totals(&text, ignore);
        let _ = text::limit(&text);
        if let Ok(numbers) = text::list(&text) {
            prop_assert!(numbers.len() <= 1 << 16);
        }
    }

    #[test]
    fn lines_come_back_in_order_with_their_values(values in proptest::collection::vec(("[a-z_]{1,12}", 0_i64..), 1..40)) {
        let lines: Vec<String> = values.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let mut found = Vec::new();
        let result = text::name_values(&lines.join("\n"), |name, value| found.push((name.to_owned(), value)));
        prop_assert!(result.is_ok());
        prop_assert_eq!(found, values);
    }

    #[test]
    fn a_broken_line_loses_nothing_but_itself(
        values in proptest::collection::vec(("[a-z_]{1,12}", 0_i64..), 1..20),
        at in any::<prop::sample::Index>(),
    ) {
        let broken = at.index(values.len());
        let mut lines: Vec<String> = values.iter().map(|(name, value)| format!("{name} {value}")).collect();
        lines[broken] = "broken line".to_owned();
        let mut found = 0;
        let result = text::name_values(&lines.join("\n"), |_, _| found += 1);
        prop_assert_eq!(found, values.len() - 1);
        prop_assert_eq!(result.map_err(|error| error.line), Err(broken + 1));
    }
}
