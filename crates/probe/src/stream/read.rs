//! Reads a stream, of which nothing is believed: the machine may have crashed in the middle of it,
//! the line may have dropped octets, and the file may be anything.

use std::io::Read;

use super::block::{self, Tag};
use super::{End, Header, MAGIC, Note, Samples, samples};

/// One thing that a stream says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item {
    /// Samples of one thread.
    Samples(Samples),
    Note(Box<Note>),
    /// The end, as it should be: the last item.
    End(End),
    /// The stream was cut off or damaged, for this reason: the last item. All before it is good.
    Cut(String),
}

/// These octets are not the beginning of a stream, for this reason.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("not a stream of qcprobe: {0}")]
pub struct NotAStream(String);

/// Reads a stream: its head, and then its items, of which the last is [`Item::End`] or
/// [`Item::Cut`].
#[derive(Debug)]
pub struct Reader<R> {
    from: R,
    header: Header,
    over: bool,
}

impl<R: Read> Reader<R> {
    /// Reads the head. What it reads from should be buffered: it asks for a few octets at a time.
    ///
    /// # Errors
    /// If this is no stream, one of another version, or one that was cut before its head was whole.
    pub fn new(mut from: R) -> Result<Self, NotAStream> {
        let header = header(&mut from).map_err(NotAStream)?;
        Ok(Self { from, header, over: false })
    }

    /// The head of the stream.
    pub fn header(&self) -> &Header {
        &self.header
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        if self.over {
            return None;
        }
        let item = item(&mut self.from).unwrap_or_else(Item::Cut);
        self.over = matches!(item, Item::End(_) | Item::Cut(_));
        Some(item)
    }
}

fn header(from: &mut impl Read) -> Result<Header, String> {
    let mut magic = [0; MAGIC.len()];
    from.read_exact(&mut magic).map_err(|_| "it is too short".to_owned())?;
    if magic[..3] != MAGIC[..3] {
        return Err(format!("it does not begin with `{}`", MAGIC.escape_ascii()));
    }
    if magic != MAGIC {
        let (theirs, ours) = (magic.escape_ascii(), MAGIC.escape_ascii());
        return Err(format!("version `{theirs}`; this program reads `{ours}`"));
    }
    match block::read(from)? {
        Some((Tag::Header, payload)) => {
            serde_json::from_slice(&payload).map_err(|error| format!("its header: {error}"))
        }
        Some(_) => Err("its header is missing".to_owned()),
        None => Err("it ends before its header".to_owned()),
    }
}

fn item(from: &mut impl Read) -> Result<Item, String> {
    let Some((tag, payload)) = block::read(from)? else {
        return Err("it has no end block".to_owned());
    };
    let json = |error: serde_json::Error| format!("an invalid block: {error}");
    match tag {
        Tag::Header => Err("a second header".to_owned()),
        Tag::Samples => samples::decode(&payload)
            .map(Item::Samples)
            .ok_or_else(|| "an invalid block of samples".to_owned()),
        Tag::Note => {
            serde_json::from_slice(&payload).map(|n| Item::Note(Box::new(n))).map_err(json)
        }
        Tag::End => serde_json::from_slice(&payload).map(Item::End).map_err(json),
    }
}
