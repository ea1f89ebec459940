#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tierscope_hostile::target("recognise")(bytes));
