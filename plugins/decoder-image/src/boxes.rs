//! Boxes of the ISO base media file format, of which AVIF and HEIC are made. Source: ISO/IEC
//! 14496-12, 4.2; ISO/IEC 23008-12, 6.5.3 (`ispe`).

/// The boxes of some content: name and content of each.
struct Boxes<'a>(&'a [u8]);

impl<'a> Iterator for Boxes<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let size = self.0.first_chunk::<4>()?;
        let name = self.0.get(4..8)?;
        let (head, size) = match u32::from_be_bytes(*size) {
            0 => (8, self.0.len()),
            1 => {
                let large = self.0.get(8..)?.first_chunk::<8>()?;
                (16, usize::try_from(u64::from_be_bytes(*large)).ok()?)
            }
            size => (8, size as usize),
        };
        let content = self.0.get(head..size)?;
        self.0 = &self.0[size..];
        Some((name, content))
    }
}

fn find<'a>(content: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    Boxes(content).find_map(|(own, inside)| (own == name).then_some(inside))
}

/// Width and height of the largest image in a file: parts of it and its thumbnail have sizes, too.
pub(crate) fn size(file: &[u8]) -> Option<(u32, u32)> {
    // Version and flags come first in `meta` and `ispe`.
    let meta = find(file, b"meta")?.get(4..)?;
    let properties = find(find(meta, b"iprp")?, b"ipco")?;
    let sizes = Boxes(properties).filter(|(name, _)| *name == b"ispe");
    let sizes = sizes.filter_map(|(_, content)| {
        let (width, rest) = content.get(4..)?.split_first_chunk::<4>()?;
        let height = rest.first_chunk::<4>()?;
        Some((u32::from_be_bytes(*width), u32::from_be_bytes(*height)))
    });
    sizes.max_by_key(|(width, height)| u64::from(*width) * u64::from(*height))
}
