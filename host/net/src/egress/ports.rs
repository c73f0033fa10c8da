//! Ports of other protocols than HTTP.

/// The ports that browsers never connect to: "bad ports" of the Fetch standard, section 2.9. A
/// request to one may be read as commands of another protocol, such as mail.
const BAD_PORTS: [u16; 83] = [
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10080,
];

/// Whether browsers refuse the port.
pub(super) fn is_bad(port: u16) -> bool {
    BAD_PORTS.binary_search(&port).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_other_protocols_are_known() {
        assert!(BAD_PORTS.is_sorted());
        for port in [0, 22, 25, 6_000, 6_667, 10_080] {
            assert!(is_bad(port), "{port}");
        }
        for port in [80, 443, 3_000, 8_000, 8_080, 8_443, 65_535] {
            assert!(!is_bad(port), "{port}");
        }
    }
}
