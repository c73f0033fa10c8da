//! Features of a block for the model.

use crate::blocks::{Block, FAR, Page, Region};
use crate::lexicon::{N_TOPICS, Topic};
use crate::stats::{Stats, share};

/// Maximum number of features of a block; a power of two, so that an index needs no bounds check.
pub(crate) const ROW_MAX: usize = 512;

/// The features of a block.
pub(crate) struct Row {
    pub(crate) values: [f32; ROW_MAX],
    /// Number of features.
    pub(crate) width: usize,
}

impl Row {
    /// An empty row.
    pub(crate) const fn new() -> Self {
        Self {
            values: [0.0; ROW_MAX],
            width: 0,
        }
    }

    fn put(&mut self, value: f32) {
        self.values[self.width] = value;
        self.width += 1;
    }

    fn log(&mut self, value: f32) {
        self.put((1.0 + value).ln());
    }
}

/// Features that are measured together, and left out together in training.
#[derive(Clone, Copy)]
enum Family {
    Text,
    Hints,
    Place,
    Heading,
    Regions,
    Alike,
    Neighbours,
    Page,
}

/// All families in the order of their features.
const FAMILIES: [Family; 8] = [
    Family::Text,
    Family::Hints,
    Family::Place,
    Family::Heading,
    Family::Regions,
    Family::Alike,
    Family::Neighbours,
    Family::Page,
];

impl Family {
    const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Hints => "hints",
            Self::Place => "place",
            Self::Heading => "heading",
            Self::Regions => "regions",
            Self::Alike => "alike",
            Self::Neighbours => "neighbours",
            Self::Page => "page",
        }
    }
}

/// A page prepared for computing the features of its blocks.
pub(crate) struct Features<'p> {
    page: &'p Page<'p>,
    total: Stats,
    /// Prefix sums of units, link units and prose units over the blocks.
    before: Vec<[f32; 3]>,
    headings: Vec<Heading>,
    clusters: Vec<Cluster>,
    /// The cluster of each block.
    cluster_of: Vec<u32>,
    /// How often the block's text occurs on the page, and how often before it.
    copies: Vec<(u32, u32)>,
    first_h1: Option<usize>,
    /// The first and last block of prose.
    prose: (usize, usize),
    /// The deepest region with most of the prose.
    center: u32,
}

/// The heading above a block.
#[derive(Clone, Copy, Default)]
struct Heading {
    block: usize,
    level: u8,
    units: f32,
    topics: [u8; N_TOPICS],
}

/// Blocks with the same signature.
#[derive(Clone, Copy, Default)]
struct Cluster {
    stats: Stats,
    first: u32,
    last: u32,
}

impl<'p> Features<'p> {
    /// Prepares a page.
    pub(crate) fn of(page: &'p Page<'p>) -> Self {
        let blocks = &page.blocks;
        let (clusters, cluster_of) = clusters(page);
        let mut before = Vec::with_capacity(blocks.len() + 1);
        let mut sum = [0.0; 3];
        before.push(sum);
        for block in blocks {
            sum[0] += block.stats.units;
            sum[1] += block.stats.link_units;
            sum[2] += block.stats.prose_units;
            before.push(sum);
        }
        let is_prose = |block: &Block| block.stats.prose_units > 0.0;
        Self {
            page,
            total: page.regions[0].stats,
            before,
            headings: headings(page),
            clusters,
            cluster_of,
            copies: copies(blocks),
            first_h1: blocks
                .iter()
                .position(|block| page.heading_level(block) == 1),
            prose: (
                blocks.iter().position(is_prose).unwrap_or(0),
                blocks.iter().rposition(is_prose).unwrap_or(blocks.len()),
            ),
            center: center(page),
        }
    }

    /// Writes the features of block `at` into `row`, replacing its content.
    pub(crate) fn write(&self, at: usize, row: &mut Row) {
        row.width = 0;
        for family in FAMILIES {
            self.write_family(family, at, row);
        }
    }

    /// For each family of features its name and one past its last feature.
    pub(crate) fn families(&self) -> Vec<(&'static str, usize)> {
        let mut row = Row::new();
        let ends = FAMILIES.iter().map(|family| {
            self.write_family(*family, 0, &mut row);
            (family.name(), row.width)
        });
        ends.collect()
    }

    fn write_family(&self, family: Family, at: usize, row: &mut Row) {
        let block = &self.page.blocks[at];
        match family {
            Family::Text => self.write_text(block, row),
            Family::Hints => self.write_hints(block, row),
            Family::Place => self.write_place(at, block, row),
            Family::Heading => self.write_heading(at, row),
            Family::Regions => self.write_regions(block, row),
            Family::Alike => self.write_alike(at, block, row),
            Family::Neighbours => self.write_neighbours(at, row),
            Family::Page => self.write_page(row),
        }
    }

    fn write_text(&self, block: &Block, row: &mut Row) {
        let stats = &block.stats;
        row.log(stats.units);
        row.put(share(stats.letters, stats.units));
        row.put(stats.link_share());
        row.put(stats.links.min(20.0));
        for links in [stats.named_links, stats.inner_links, stats.social_links] {
            row.put(share(links, stats.links));
        }
        for part in [
            stats.common,
            stats.capitals,
            stats.sentences,
            stats.commas,
            stats.numbers,
            block.strong_units,
            block.code_units,
        ] {
            row.put(share(part, stats.units));
        }
        row.log(stats.sentences);
        row.log(stats.commas);
        row.put(stats.money.min(5.0));
        for &count in &block.topics[..Topic::Common as usize] {
            row.put(f32::from(count.min(4)));
        }
        for topic in [Topic::Bio, Topic::Appeal, Topic::Own, Topic::Legal] {
            row.put(share(
                f32::from(block.topics[topic as usize]),
                stats.units.min(80.0),
            ));
        }
        row.put(f32::from(mark_kind(block.first)));
        row.put(f32::from(mark_kind(block.last)));
        row.put(f32::from(block.n_media.min(5)));
        row.put(f32::from(block.n_breaks.min(10)));
        row.put(share(f32::from(block.title_words), stats.units));
        row.put(share(f32::from(block.title_words), self.page.title.len() as f32).min(2.0));
        row.put(f32::from(tag_kind(self.region(block))));
    }

    fn write_hints(&self, block: &Block, row: &mut Row) {
        for (hint, &levels) in self.region(block).near.iter().enumerate() {
            let is_own = block.hints & (1 << hint) != 0;
            row.put(if is_own { -1.0 } else { f32::from(levels) });
        }
    }

    fn write_place(&self, at: usize, block: &Block, row: &mut Row) {
        let n_blocks = self.page.blocks.len() as f32;
        row.put(at as f32 / n_blocks);
        row.put(share(self.before[at][0], self.total.units));
        row.put(share(self.before[at][2], self.total.prose_units));
        row.log(at as f32);
        row.log(n_blocks - at as f32);
        row.put(f32::from(self.region(block).depth));
        let from_h1 = self.first_h1.map_or(-999.0, |h1| at as f32 - h1 as f32);
        row.put(from_h1.clamp(-100.0, 300.0));
        row.put((at as f32 - self.prose.0 as f32).clamp(-100.0, 300.0));
        row.put((at as f32 - self.prose.1 as f32).clamp(-300.0, 100.0));
    }

    fn write_heading(&self, at: usize, row: &mut Row) {
        let heading = &self.headings[at];
        row.put(f32::from(heading.level));
        row.put((at - heading.block).min(50) as f32);
        row.put(heading.units.min(30.0));
        for topic in [
            Topic::Related,
            Topic::Comment,
            Topic::Subscribe,
            Topic::Share,
            Topic::Site,
            Topic::Content,
            Topic::Common,
            Topic::Action,
            Topic::Bio,
            Topic::Meta,
        ] {
            row.put(f32::from(heading.topics[topic as usize].min(3)));
        }
    }

    fn write_regions(&self, block: &Block, row: &mut Row) {
        let mut levels = [0_u32; 6];
        let mut sized = [0_u32; 4];
        let mut n_levels = 0;
        let mut to_center = FAR;
        for at in self.page.around(block.region) {
            let region = &self.page.regions[at as usize];
            if n_levels < levels.len() {
                levels[n_levels] = at;
                n_levels += 1;
            }
            let part = share(region.stats.units, self.total.units);
            for (place, least) in sized.iter_mut().zip([0.03, 0.1, 0.3, 0.6]) {
                if *place == 0 && part >= least {
                    *place = at;
                }
            }
            if to_center == FAR && self.holds(at, self.center) {
                to_center = self
                    .region(block)
                    .depth
                    .saturating_sub(region.depth)
                    .min(u16::from(FAR)) as u8;
            }
        }
        for at in [levels[0], levels[1], levels[2], levels[3], levels[5]] {
            self.write_region(at, row);
        }
        for at in sized {
            self.write_region(at, row);
        }
        row.put(f32::from(to_center));
        row.put(f32::from(self.page.regions[self.center as usize].depth));
    }

    fn holds(&self, outer: u32, inner: u32) -> bool {
        let (outer, inner) = (
            &self.page.regions[outer as usize],
            &self.page.regions[inner as usize],
        );
        outer.depth <= inner.depth
            && outer.blocks.0 <= inner.blocks.0
            && inner.blocks.1 <= outer.blocks.1
    }

    fn write_region(&self, at: u32, row: &mut Row) {
        let region = &self.page.regions[at as usize];
        let stats = &region.stats;
        row.put(share(stats.units, self.total.units));
        row.put(stats.link_share());
        row.put(share(stats.prose_units, stats.units));
        row.put(share(stats.prose_units, self.total.prose_units));
        row.log(stats.blocks);
        row.put(share(stats.units, stats.blocks).min(60.0));
        row.put(share(stats.common, stats.units));
        row.put(share(region.n_media as f32, stats.blocks).min(3.0));
        row.put(share(region.n_controls as f32, stats.blocks).min(3.0));
        row.put(share(region.n_headings as f32, stats.blocks));
        row.put(share(stats.named_links, stats.links));
        row.put(share(stats.inner_links + stats.social_links, stats.links));
        row.log(region.n_alike as f32);
        row.log(region.n_children as f32);
        let parent = &self.page.regions[region.parent as usize];
        row.put(share(region.index as f32, parent.n_children as f32));
    }

    fn write_alike(&self, at: usize, block: &Block, row: &mut Row) {
        let cluster = &self.clusters[self.cluster_of[at] as usize];
        let stats = &cluster.stats;
        row.log(stats.blocks);
        row.put(share(stats.units, stats.blocks).min(100.0));
        row.put(share(stats.units, self.total.units));
        row.put(stats.link_share());
        row.put(share(stats.common, stats.units));
        row.put(share(stats.prose_units, stats.units));
        row.put(share(stats.named_links, stats.links));
        row.put((cluster.last - cluster.first) as f32 / self.page.blocks.len() as f32);
        row.put(share(block.stats.units, share(stats.units, stats.blocks)).min(10.0));
        let (copies, earlier) = self.copies[at];
        row.put(copies.min(10) as f32);
        row.put(earlier.min(10) as f32);
    }

    fn write_neighbours(&self, at: usize, row: &mut Row) {
        let blocks = &self.page.blocks;
        for step in [-1_isize, 1, -2, 2] {
            let neighbour = at.checked_add_signed(step).and_then(|at| blocks.get(at));
            let Some(neighbour) = neighbour else {
                for value in [-1.0, -1.0, -1.0, -1.0, -1.0] {
                    row.put(value);
                }
                continue;
            };
            row.log(neighbour.stats.units);
            row.put(neighbour.stats.link_share());
            row.put(share(neighbour.stats.common, neighbour.stats.units));
            row.put(f32::from(tag_kind(self.region(neighbour))));
            let depth = |block: &Block| f32::from(self.region(block).depth);
            row.put(depth(neighbour) - depth(&blocks[at]));
        }
        for (back, on) in [(3, 3), (8, 8), (25, 25), (10, 0), (0, 10)] {
            let from = self.before[at.saturating_sub(back)];
            let to = self.before[(at + on + 1).min(blocks.len())];
            let units = to[0] - from[0];
            row.log(units);
            row.put(share(to[1] - from[1], units));
            row.put(share(to[2] - from[2], units));
        }
    }

    fn write_page(&self, row: &mut Row) {
        row.log(self.total.units);
        row.log(self.total.blocks);
        row.put(self.total.link_share());
        row.put(share(self.total.prose_units, self.total.units));
        row.put(share(self.total.units, self.total.blocks));
        row.put(share(self.total.money, self.total.blocks));
        row.put(share(
            self.page.regions[0].n_headings as f32,
            self.total.blocks,
        ));
        row.put(share(
            self.page.regions[0].n_media as f32,
            self.total.blocks,
        ));
        self.page.facts.write(|value| row.put(value));
    }

    fn region(&self, block: &Block) -> &'p Region {
        &self.page.regions[block.region as usize]
    }
}

impl Page<'_> {
    /// Level of the heading that contains the block; 0 outside of headings.
    pub(crate) fn heading_level(&self, block: &Block) -> u8 {
        let levels = self.around(block.region).take(3);
        levels
            .filter_map(|at| self.regions[at as usize].tag.heading_level())
            .next()
            .unwrap_or(0)
    }
}

fn headings(page: &Page<'_>) -> Vec<Heading> {
    let mut heading = Heading::default();
    let mut headings = Vec::with_capacity(page.blocks.len());
    for (at, block) in page.blocks.iter().enumerate() {
        let level = page.heading_level(block);
        if level > 0 {
            heading = Heading {
                block: at,
                level,
                units: block.stats.units,
                topics: block.topics,
            };
        }
        headings.push(heading);
    }
    headings
}

fn clusters(page: &Page<'_>) -> (Vec<Cluster>, Vec<u32>) {
    let signature = |at: u32| page.regions[page.blocks[at as usize].region as usize].signature;
    let mut order: Vec<(u32, u32)> = (0..page.blocks.len() as u32)
        .map(|at| (signature(at), at))
        .collect();
    order.sort_unstable();
    let mut clusters = Vec::new();
    let mut cluster_of = vec![0; order.len()];
    for group in order.chunk_by(|a, b| a.0 == b.0) {
        let mut cluster = Cluster {
            first: group[0].1,
            last: group[group.len() - 1].1,
            ..Cluster::default()
        };
        for &(_, at) in group {
            cluster.stats.add(&page.blocks[at as usize].stats);
            cluster_of[at as usize] = clusters.len() as u32;
        }
        clusters.push(cluster);
    }
    (clusters, cluster_of)
}

fn copies(blocks: &[Block]) -> Vec<(u32, u32)> {
    let mut order: Vec<(u32, u32)> = blocks
        .iter()
        .enumerate()
        .map(|(at, block)| (block.hash, at as u32))
        .collect();
    order.sort_unstable();
    let mut copies = vec![(0, 0); blocks.len()];
    for group in order.chunk_by(|a, b| a.0 == b.0) {
        for (earlier, &(_, at)) in group.iter().enumerate() {
            copies[at as usize] = (group.len() as u32, earlier as u32);
        }
    }
    copies
}

/// The deepest region with most of the prose (or text, on a page without prose).
fn center(page: &Page<'_>) -> u32 {
    let has_prose = page.regions[0].stats.prose_units > 0.0;
    let weight = |region: &Region| {
        if has_prose {
            region.stats.prose_units
        } else {
            region.stats.units
        }
    };
    let half = weight(&page.regions[0]) * 0.6;
    let mut center = 0;
    for (at, region) in page.regions.iter().enumerate() {
        let is_inside = region.parent == center || at == 0;
        if is_inside && weight(region) >= half && weight(region) > 0.0 {
            center = at as u32;
        }
    }
    center
}

/// Class of the character that starts or ends a text.
fn mark_kind(character: char) -> u8 {
    match character {
        '.' | '!' | '?' | '。' | '！' | '？' => 1,
        ':' | '：' => 2,
        ',' | ';' | '，' | '、' => 3,
        '…' => 4,
        '|' | '/' | '›' | '»' | '>' | '→' | '•' | '·' | '<' | '«' | '←' | '+' | '▼' => {
            5
        }
        '©' => 6,
        '"' | '”' | '’' | '\'' | '“' | ')' | '(' => 7,
        '0'..='9' => 8,
        'A'..='Z' => 9,
        'a'..='z' => 10,
        _ if character.is_alphabetic() => 11,
        _ => 12,
    }
}

/// A number for the type of element that contains a block; similar types have close numbers.
fn tag_kind(region: &Region) -> u8 {
    use trawl_sdk::Tag;
    match region.tag {
        Tag::P => 0,
        Tag::Blockquote => 1,
        Tag::Pre => 2,
        Tag::Dd => 3,
        Tag::Td => 4,
        Tag::Th => 5,
        Tag::Dt => 6,
        Tag::Figcaption | Tag::Caption => 7,
        Tag::Li => 8,
        Tag::H1 => 9,
        Tag::H2 => 10,
        Tag::H3 => 11,
        Tag::H4 => 12,
        Tag::H5 | Tag::H6 => 13,
        Tag::Section | Tag::Article | Tag::Main => 14,
        Tag::Div => 15,
        Tag::Header => 16,
        Tag::Other => 17,
        Tag::Label | Tag::Legend | Tag::Summary => 18,
        Tag::Button => 19,
        Tag::Footer | Tag::Nav | Tag::Aside | Tag::Form => 20,
        _ => 21,
    }
}
