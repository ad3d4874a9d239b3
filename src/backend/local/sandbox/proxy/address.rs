//! Which addresses are out in the public Internet, and therefore nobody's private business.
//!
//! An allow-list of what may be dialled, not a list of known bad ranges: for IPv6 only the global unicast space, less the parts of it
//! that carry other addresses inside.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether anybody on the Internet could mean this address: not loopback, private, link-local, shared (CGNAT), multicast, reserved or
/// for documentation, not a cloud's metadata service, and not an address of another family in disguise.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

/// IPv4 ranges that are not public: (first address, prefix length).
const NOT_PUBLIC_V4: &[(Ipv4Addr, u32)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 3),
    // Looks public, but is the host's side of every Azure machine.
    (Ipv4Addr::new(168, 63, 129, 16), 32),
];

fn is_public_v4(address: Ipv4Addr) -> bool {
    !NOT_PUBLIC_V4.iter().any(|(first, length)| {
        let shift = 32 - length;
        address.to_bits() >> shift == first.to_bits() >> shift
    })
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, ..] = address.segments();
    // 2000::/3. This alone leaves out ::1, ::ffff:0:0/96, 64:ff9b::/96, fc00::/7, fe80::/10 and ff00::/8.
    let global = a & 0xe000 == 0x2000;
    let special = match a {
        // Teredo, ORCHID and other protocols' own; documentation.
        0x2001 => b < 0x0200 || b == 0x0db8,
        // 6to4: an IPv4 address in disguise.
        0x2002 => true,
        // Documentation.
        0x3fff => b < 0x1000,
        _ => false,
    };
    global && !special
}

/// The addresses of this machine's own interfaces. A public one of them leads to this machine's services, not to the Internet.
pub(super) fn own() -> Vec<IpAddr> {
    let mut own = Vec::new();
    let mut list = std::ptr::null_mut();
    // SAFETY: getifaddrs fills `list` with a linked list that stays valid until freeifaddrs; every address is read by its family.
    unsafe {
        if libc::getifaddrs(&mut list) != 0 {
            return own;
        }
        let mut at = list;
        while let Some(interface) = at.as_ref() {
            if let Some(address) = interface.ifa_addr.as_ref() {
                match i32::from(address.sa_family) {
                    libc::AF_INET => {
                        let v4 = interface
                            .ifa_addr
                            .cast::<libc::sockaddr_in>()
                            .read_unaligned();
                        own.push(Ipv4Addr::from_bits(u32::from_be(v4.sin_addr.s_addr)).into());
                    }
                    libc::AF_INET6 => {
                        let v6 = interface
                            .ifa_addr
                            .cast::<libc::sockaddr_in6>()
                            .read_unaligned();
                        own.push(Ipv6Addr::from(v6.sin6_addr.s6_addr).into());
                    }
                    _ => {}
                }
            }
            at = interface.ifa_next;
        }
        libc::freeifaddrs(list);
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_public() {
        let public = "1.1.1.1 8.8.8.8 100.63.255.255 100.128.0.0 172.15.0.1 172.32.0.1 192.0.1.1 168.63.129.17 223.255.255.255 \
             2606:4700::1 2a00:1450::1 2001:4860:4860::8888 2600::";
        let not_public = "0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.100.100.200 127.0.0.1 127.255.0.1 169.254.169.254 169.254.170.2 \
             172.16.0.1 172.31.255.255 192.0.0.192 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.51.100.7 203.0.113.9 224.0.0.1 \
             240.0.0.1 255.255.255.255 168.63.129.16 :: ::1 ::ffff:8.8.8.8 ::8.8.8.8 64:ff9b::808:808 64:ff9b:1::1 100::1 \
             2001::1 2001:10::1 2001:20::1 2001:db8::1 2002:808:808::1 3fff::1 fc00::1 fd00:ec2::254 fd20:ce::254 fe80::1 fec0::1 ff02::1";
        for (list, expect) in [(public, true), (not_public, false)] {
            for text in list.split_ascii_whitespace() {
                let address: IpAddr = text.parse().expect("an address");
                assert_eq!(is_public(address), expect, "{text}");
            }
        }
    }

    #[test]
    fn the_machines_own_addresses_include_loopback() {
        assert!(own().contains(&IpAddr::V4(Ipv4Addr::LOCALHOST)));
    }
}
