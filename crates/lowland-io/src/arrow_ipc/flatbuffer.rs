//! Just enough of FlatBuffers to read the metadata of Arrow messages. Every access is checked against the buffer, and
//! offsets to tables only point forward, so that damaged metadata give an error and never a cycle.

/// Metadata that contradict themselves.
#[derive(Debug)]
pub(super) struct Malformed;

type Result<T> = std::result::Result<T, Malformed>;

/// A table: fields by slot, each of which may be absent.
#[derive(Debug, Clone, Copy)]
pub(super) struct FlatTable<'a> {
    buffer: &'a [u8],
    position: usize,
    vtable: usize,
    vtable_len: usize,
}

fn read<const N: usize>(buffer: &[u8], at: usize) -> Result<[u8; N]> {
    let bytes = at.checked_add(N).and_then(|end| buffer.get(at..end)).ok_or(Malformed)?;
    bytes.try_into().map_err(|_| Malformed)
}

/// Follows an offset, which is relative to its own position.
fn follow(buffer: &[u8], at: usize) -> Result<usize> {
    match u32::from_le_bytes(read(buffer, at)?) as usize {
        0 => Err(Malformed),
        offset => at.checked_add(offset).ok_or(Malformed),
    }
}

impl<'a> FlatTable<'a> {
    /// The root table of a buffer.
    pub fn root(buffer: &'a [u8]) -> Result<Self> {
        Self::at(buffer, follow(buffer, 0)?)
    }

    fn at(buffer: &'a [u8], position: usize) -> Result<Self> {
        let back = i64::from(i32::from_le_bytes(read(buffer, position)?));
        let vtable = usize::try_from(position as i64 - back).map_err(|_| Malformed)?;
        let vtable_len = usize::from(u16::from_le_bytes(read(buffer, vtable)?));
        Ok(Self { buffer, position, vtable, vtable_len })
    }

    /// Position of a field; `None` if it is absent.
    fn field(&self, slot: usize) -> Result<Option<usize>> {
        let entry = 4 + 2 * slot;
        if entry + 2 > self.vtable_len {
            return Ok(None);
        }
        match u16::from_le_bytes(read(self.buffer, self.vtable + entry)?) {
            0 => Ok(None),
            offset => Ok(Some(self.position + usize::from(offset))),
        }
    }

    fn scalar<const N: usize>(&self, slot: usize) -> Result<Option<[u8; N]>> {
        self.field(slot)?.map(|at| read(self.buffer, at)).transpose()
    }

    pub fn u8(&self, slot: usize, default: u8) -> Result<u8> {
        Ok(self.scalar(slot)?.map_or(default, u8::from_le_bytes))
    }

    pub fn i16(&self, slot: usize, default: i16) -> Result<i16> {
        Ok(self.scalar(slot)?.map_or(default, i16::from_le_bytes))
    }

    pub fn i32(&self, slot: usize, default: i32) -> Result<i32> {
        Ok(self.scalar(slot)?.map_or(default, i32::from_le_bytes))
    }

    pub fn i64(&self, slot: usize, default: i64) -> Result<i64> {
        Ok(self.scalar(slot)?.map_or(default, i64::from_le_bytes))
    }

    pub fn table(&self, slot: usize) -> Result<Option<FlatTable<'a>>> {
        self.field(slot)?.map(|at| Self::at(self.buffer, follow(self.buffer, at)?)).transpose()
    }

    pub fn string(&self, slot: usize) -> Result<Option<&'a str>> {
        let Some(bytes) = self.items(slot, 1)? else { return Ok(None) };
        std::str::from_utf8(bytes).map(Some).map_err(|_| Malformed)
    }

    /// The bytes of a vector of items of `width` bytes; `None` if it is absent.
    fn items(&self, slot: usize, width: usize) -> Result<Option<&'a [u8]>> {
        let Some(at) = self.field(slot)? else { return Ok(None) };
        let start = follow(self.buffer, at)?;
        let size = (u32::from_le_bytes(read(self.buffer, start)?) as usize).checked_mul(width).ok_or(Malformed)?;
        let end = start.checked_add(4).and_then(|from| from.checked_add(size)).ok_or(Malformed)?;
        Ok(Some(self.buffer.get(start + 4..end).ok_or(Malformed)?))
    }

    /// A vector of whole numbers.
    pub fn i64s(&self, slot: usize) -> Result<Vec<i64>> {
        let items = self.items(slot, 8)?.unwrap_or_default();
        Ok(items.chunks_exact(8).map(|item| i64::from_le_bytes(item.try_into().expect("eight bytes"))).collect())
    }

    /// A vector of structs of two whole numbers.
    pub fn i64_pairs(&self, slot: usize) -> Result<Vec<(i64, i64)>> {
        let items = self.items(slot, 16)?.unwrap_or_default();
        let number = |bytes: &[u8]| i64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        Ok(items.chunks_exact(16).map(|pair| (number(&pair[..8]), number(&pair[8..]))).collect())
    }

    /// A vector of tables.
    pub fn tables(&self, slot: usize) -> Result<Vec<FlatTable<'a>>> {
        let Some(items) = self.items(slot, 4)? else { return Ok(Vec::new()) };
        let Some(at) = self.field(slot)? else { return Ok(Vec::new()) };
        let start = follow(self.buffer, at)? + 4;
        let table = |i: usize| Self::at(self.buffer, follow(self.buffer, start + 4 * i)?);
        (0..items.len() / 4).map(table).collect()
    }
}
