//! Addresses of the service: https, or http where nobody can listen.

use std::net::IpAddr;

use crate::UploadError;

/// A checked base address, without a slash at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) base: String,
    pub(crate) is_loopback: bool,
}

/// Checks a base address. Plain http is for loopback, or for who asks for it: a credential travels in each request.
pub(crate) fn check(url: &str, allow_http: bool) -> Result<Address, UploadError> {
    let wrong = |reason| UploadError::Address {
        url: url.to_owned(),
        reason,
    };
    let base = url.trim_end_matches('/');
    let (scheme, rest) = base
        .split_once("://")
        .ok_or_else(|| wrong("it must start with https:// or http://"))?;
    let authority = rest.split('/').next().unwrap_or_default();
    if authority.is_empty() || authority.contains(['@', '?', '#']) {
        return Err(wrong("it must be of the form https://HOST[:PORT][/PATH]"));
    }
    let is_loopback = is_loopback(host_of(authority));
    match scheme {
        "https" => {}
        "http" if is_loopback || allow_http => {}
        "http" => {
            return Err(wrong(
                "plain http is for loopback; use https, or set allow_http = true",
            ));
        }
        _ => return Err(wrong("it must start with https:// or http://")),
    }
    Ok(Address {
        base: base.to_owned(),
        is_loopback,
    })
}

/// The host of `host:port`, without the brackets of an IPv6 address.
fn host_of(authority: &str) -> &str {
    if let Some(bracketed) = authority.strip_prefix('[') {
        return bracketed.split(']').next().unwrap_or_default();
    }
    authority.split(':').next().unwrap_or_default()
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_may_use_http_and_others_need_https() {
        for url in [
            "http://127.0.0.1:8480/",
            "http://localhost:1",
            "http://[::1]:8480",
            "http://127.9.9.9",
        ] {
            assert!(check(url, false).expect("allowed").is_loopback, "{url}");
        }
        assert!(
            !check("https://tierscope.example/base", false)
                .expect("allowed")
                .is_loopback
        );
        assert!(check("http://tierscope.example", true).is_ok());
        for url in [
            "http://tierscope.example",
            "http://127.0.0.1.example",
            "http://localhost.example",
            "http://127.0.0.1@evil.example",
            "ftp://127.0.0.1",
            "127.0.0.1:8480",
            "https://",
        ] {
            assert!(check(url, false).is_err(), "{url}");
        }
    }

    #[test]
    fn the_base_has_no_slash_at_its_end() {
        assert_eq!(
            check("https://a.example/t//", false).expect("allowed").base,
            "https://a.example/t"
        );
    }
}
