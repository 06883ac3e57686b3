//! Decides which addresses a host name may resolve to. The owner of a name's DNS controls its addresses, and may work
//! with the agent: an allowed name could point to the machine, its network or the cloud's metadata service.
//!
//! So a name may resolve to public addresses only. An address that is not public must be listed itself.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns why an address is not public; `None` if it is.
///
/// Rarely used ranges count as not public: list such an address if you need it.
pub fn not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => not_public_v4(address),
        IpAddr::V6(address) => not_public_v6(address),
    }
}

fn not_public_v4(address: Ipv4Addr) -> Option<&'static str> {
    Some(match address.octets() {
        [0, ..] => "unspecified",
        [127, ..] => "loopback",
        [169, 254, ..] => "link-local",
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => "private",
        [100, 64..=127, ..] => "shared by a provider's customers",
        [224..=239, ..] => "multicast",
        [255, 255, 255, 255] => "broadcast",
        [192, 0, 0 | 2, _] | [192, 88, 99, _] | [198, 18 | 19, ..] | [198, 51, 100, _] | [203, 0, 113, _] => {
            "reserved"
        }
        [240..=255, ..] => "beyond what is handed out",
        _ => return None,
    })
}

fn not_public_v6(address: Ipv6Addr) -> Option<&'static str> {
    let inner = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        not_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some("unspecified"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("loopback"),
        // IPv4 embedded in IPv6: mapped, translated (RFC 6052), 6to4. The system may unwrap them on the way.
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, _, _, _, _, _] => inner(high, low),
        [0xfe80..=0xfebf, ..] => Some("link-local"),
        [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] => Some("private"),
        [0xff00..=0xffff, ..] => Some("multicast"),
        // Special purposes (among them Teredo, which hides an IPv4 address) and documentation.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Some("reserved"),
        [0x2000..=0x3fff, ..] => None,
        // Only 2000::/3 is allocated.
        _ => Some("reserved"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    /// First and last address of every range that is not public, and the public addresses next to it.
    const V4: [(&str, &str, &str, &[&str]); 16] = [
        ("0.0.0.0", "0.255.255.255", "unspecified", &["1.0.0.0"]),
        ("10.0.0.0", "10.255.255.255", "private", &["9.255.255.255", "11.0.0.0"]),
        (
            "100.64.0.0",
            "100.127.255.255",
            "shared by a provider's customers",
            &["100.63.255.255", "100.128.0.0"],
        ),
        ("127.0.0.0", "127.255.255.255", "loopback", &["126.255.255.255", "128.0.0.0"]),
        ("169.254.0.0", "169.254.255.255", "link-local", &["169.253.255.255", "169.255.0.0"]),
        ("172.16.0.0", "172.31.255.255", "private", &["172.15.255.255", "172.32.0.0"]),
        ("192.0.0.0", "192.0.0.255", "reserved", &["191.255.255.255", "192.0.1.0"]),
        ("192.0.2.0", "192.0.2.255", "reserved", &["192.0.1.255", "192.0.3.0"]),
        ("192.88.99.0", "192.88.99.255", "reserved", &["192.88.98.255", "192.88.100.0"]),
        ("192.168.0.0", "192.168.255.255", "private", &["192.167.255.255", "192.169.0.0"]),
        ("198.18.0.0", "198.19.255.255", "reserved", &["198.17.255.255", "198.20.0.0"]),
        ("198.51.100.0", "198.51.100.255", "reserved", &["198.51.99.255", "198.51.101.0"]),
        ("203.0.113.0", "203.0.113.255", "reserved", &["203.0.112.255", "203.0.114.0"]),
        ("224.0.0.0", "239.255.255.255", "multicast", &["223.255.255.255"]),
        ("240.0.0.0", "255.255.255.254", "beyond what is handed out", &[]),
        ("255.255.255.255", "255.255.255.255", "broadcast", &[]),
    ];

    #[test]
    fn every_range_of_ipv4_that_is_not_public_is_known_to_its_borders() {
        for (first, last, why, outside) in V4 {
            for inside in [first, last] {
                assert_eq!(not_public(at(inside)), Some(why), "{inside}");
            }
            for outside in outside {
                assert_eq!(not_public(at(outside)), None, "{outside}");
            }
        }
    }

    #[test]
    fn every_block_of_ipv4_is_what_the_table_says() {
        let number = |text: &str| u32::from(text.parse::<Ipv4Addr>().expect("an address"));
        let listed: Vec<_> =
            V4.iter().map(|(first, last, why, _)| (number(first)..=number(last), *why)).collect();
        // The table is sorted, so one entry of lookahead is enough. Step by 256: no range is smaller, except the last
        // address.
        let mut ahead = listed.iter().peekable();
        for address in (0..=u32::MAX - 256).step_by(256) {
            while ahead.next_if(|(range, _)| *range.end() < address).is_some() {}
            let expected = ahead.peek().filter(|(range, _)| range.contains(&address)).map(|(_, why)| *why);
            assert_eq!(not_public_v4(Ipv4Addr::from(address)), expected, "{}", Ipv4Addr::from(address));
        }
    }

    #[test]
    fn an_ipv4_address_is_the_same_in_the_clothes_of_ipv6() {
        for (first, last, why, outside) in V4 {
            let dressed = |text: &str| {
                let [a, b, c, d] = text.parse::<Ipv4Addr>().expect("an address").octets();
                [
                    format!("::ffff:{text}"),
                    format!("64:ff9b::{text}"),
                    format!("2002:{a:02x}{b:02x}:{c:02x}{d:02x}::1"),
                ]
            };
            for text in [first, last].into_iter().flat_map(dressed) {
                assert_eq!(not_public(at(&text)), Some(why), "{text}");
            }
            for text in outside.iter().flat_map(|text| dressed(text)) {
                assert_eq!(not_public(at(&text)), None, "{text}");
            }
        }
    }

    #[test]
    fn ranges_of_ipv6_that_are_not_public_are_known_to_their_borders() {
        for (text, expected) in [
            ("::", Some("unspecified")),
            ("::1", Some("loopback")),
            ("::2", Some("reserved")),
            ("::127.0.0.1", Some("reserved")),
            ("64:ff9b:1::1", Some("reserved")),
            ("64:ff9b::1:0:0", Some("reserved")),
            ("100::1", Some("reserved")),
            ("1fff:ffff::", Some("reserved")),
            ("2000::", None),
            ("2001::1", Some("reserved")),
            ("2001:1ff:ffff::", Some("reserved")),
            ("2001:200::", None),
            ("2001:db7::", None),
            ("2001:db8::1", Some("reserved")),
            ("2001:db9::", None),
            ("2606:4700::1111", None),
            ("3ffe::", None),
            ("3fff:0fff::", Some("reserved")),
            ("3fff:1000::", None),
            ("3fff:ffff::", None),
            ("4000::", Some("reserved")),
            ("5f00::1", Some("reserved")),
            ("fbff::", Some("reserved")),
            ("fc00::", Some("private")),
            ("fdff:ffff::1", Some("private")),
            ("fe00::", Some("reserved")),
            ("fe7f::", Some("reserved")),
            ("fe80::1", Some("link-local")),
            ("febf:ffff::", Some("link-local")),
            ("fec0::1", Some("private")),
            ("ff02::1", Some("multicast")),
        ] {
            assert_eq!(not_public(at(text)), expected, "{text}");
        }
    }
}
