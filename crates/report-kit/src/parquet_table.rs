//! Tables of numbers and names as Parquet, group of rows by group of rows.
//!
//! Samples come by the million and are never needed all at once while they are written or read, so
//! both happen in groups of rows, each column of which is a vector. Whole numbers are coded as
//! differences (DELTA_BINARY_PACKED), which leaves nearly nothing of times that follow a period.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use parquet::basic::{Compression, ConvertedType, Encoding, Repetition, Type as PhysicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type, TypePtr};

/// Rows of a group: what a reader must hold at once.
pub const GROUP_ROWS: usize = 65_536;

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Int32,
    Int64,
    Double,
    Text,
}

impl Kind {
    fn physical(self) -> PhysicalType {
        match self {
            Self::Int32 => PhysicalType::INT32,
            Self::Int64 => PhysicalType::INT64,
            Self::Double => PhysicalType::DOUBLE,
            Self::Text => PhysicalType::BYTE_ARRAY,
        }
    }
}

/// The values of a column in a group of rows.
#[derive(Clone, PartialEq, Debug)]
pub enum Values {
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    /// Floating point; NaN where there is none.
    Double(Vec<f64>),
    Text(Vec<String>),
}

impl Values {
    /// What a column with these values holds.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Int32(_) => Kind::Int32,
            Self::Int64(_) => Kind::Int64,
            Self::Double(_) => Kind::Double,
            Self::Text(_) => Kind::Text,
        }
    }
}

/// Name and kind of each column of a table.
pub type Schema<'a> = [(&'a str, Kind)];

/// Writes a table under a temporary name, which becomes the real one when all is written: readers
/// see it complete or not at all.
pub struct Writer {
    path: PathBuf,
    temporary: PathBuf,
    file: SerializedFileWriter<File>,
}

impl Writer {
    /// Begins a table, with notes (keys and values) for those who read it.
    pub fn create(
        path: &Path,
        name: &str,
        schema: &Schema<'_>,
        notes: &[(String, String)],
    ) -> Result<Self> {
        let temporary = path.with_extension("parquet.tmp");
        let begun = || -> Result<_> {
            let (file, group) = (File::create(&temporary)?, group_type(name, schema)?);
            Ok(SerializedFileWriter::new(file, group, properties(schema, notes))?)
        };
        let file = begun().with_context(|| format!("writing {}", temporary.display()))?;
        Ok(Self { path: path.to_owned(), temporary, file })
    }

    /// Adds a group of rows, a vector for each column.
    pub fn group(&mut self, columns: &[Values]) -> Result<()> {
        let mut group = self.file.next_row_group()?;
        for values in columns {
            let mut column = group.next_column()?.context("more columns than the schema has")?;
            match values {
                Values::Int32(values) => {
                    column.typed::<Int32Type>().write_batch(values, None, None)?
                }
                Values::Int64(values) => {
                    column.typed::<Int64Type>().write_batch(values, None, None)?
                }
                Values::Double(values) => {
                    column.typed::<DoubleType>().write_batch(values, None, None)?
                }
                Values::Text(values) => {
                    let values: Vec<ByteArray> =
                        values.iter().map(|value| value.as_str().into()).collect();
                    column.typed::<ByteArrayType>().write_batch(&values, None, None)?
                }
            };
            column.close()?;
        }
        group.close()?;
        Ok(())
    }

    /// Ends the table and gives it its name.
    pub fn finish(self) -> Result<()> {
        let finished = || -> Result<()> {
            self.file.into_inner()?.sync_all()?;
            Ok(std::fs::rename(&self.temporary, &self.path)?)
        };
        finished().with_context(|| format!("writing {}", self.path.display()))
    }
}

fn properties(schema: &Schema<'_>, notes: &[(String, String)]) -> Arc<WriterProperties> {
    let note = |(key, value): &(String, String)| KeyValue::new(key.clone(), value.clone());
    let notes: Vec<KeyValue> = notes.iter().map(note).collect();
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata((!notes.is_empty()).then_some(notes));
    for (name, _) in schema.iter().filter(|(_, kind)| matches!(kind, Kind::Int32 | Kind::Int64)) {
        let path = ColumnPath::from(*name);
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    Arc::new(properties.build())
}

fn group_type(name: &str, schema: &Schema<'_>) -> Result<TypePtr> {
    let field = |(name, kind): &(&str, Kind)| -> Result<TypePtr> {
        let mut field = Type::primitive_type_builder(name, kind.physical());
        if *kind == Kind::Text {
            field = field.with_converted_type(ConvertedType::UTF8);
        }
        Ok(Arc::new(field.with_repetition(Repetition::REQUIRED).build()?))
    };
    let fields = schema.iter().map(field).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(Type::group_type_builder(name).with_fields(fields).build()?))
}

/// Reads a table, and hands each group of rows to `take`.
pub fn read(
    path: &Path,
    schema: &Schema<'_>,
    mut take: impl FnMut(&[Values]) -> Result<()>,
) -> Result<()> {
    let table = Reader::open(path)?;
    let of_schema = schema.iter().map(|(name, kind)| ((*name).to_owned(), *kind));
    if !table.columns()?.into_iter().eq(of_schema) {
        let names: Vec<&str> = schema.iter().map(|(name, _)| *name).collect();
        bail!("reading {}: the columns must be {}", path.display(), names.join(", "));
    }
    table.groups(|group| take(&group))
}

/// A table whose columns are not known beforehand.
pub struct Reader {
    path: PathBuf,
    file: SerializedFileReader<File>,
}

impl Reader {
    /// Opens a table, which must be a regular file.
    pub fn open(path: &Path) -> Result<Self> {
        let open = || -> Result<_> { Ok(SerializedFileReader::new(os::regular::open(path)?)?) };
        let file = open().with_context(|| format!("reading {}", path.display()))?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Name and kind of each column.
    pub fn columns(&self) -> Result<Vec<(String, Kind)>> {
        let mut columns = Vec::new();
        for column in self.file.metadata().file_metadata().schema_descr().columns() {
            let kinds = [Kind::Int32, Kind::Int64, Kind::Double, Kind::Text];
            let kind = kinds.into_iter().find(|kind| kind.physical() == column.physical_type());
            match kind.filter(|_| column.max_def_level() == 0 && column.max_rep_level() == 0) {
                Some(kind) => columns.push((column.name().to_owned(), kind)),
                None => bail!(
                    "reading {}: column `{}` has a type that no table here has",
                    self.path.display(),
                    column.name()
                ),
            }
        }
        Ok(columns)
    }

    /// The note of this key.
    pub fn note(&self, key: &str) -> Option<&str> {
        let notes = self.file.metadata().file_metadata().key_value_metadata();
        notes.into_iter().flatten().find(|note| note.key == key)?.value.as_deref()
    }

    /// Hands each group of rows to `take`.
    pub fn groups(&self, mut take: impl FnMut(Vec<Values>) -> Result<()>) -> Result<()> {
        let mut all = || -> Result<()> {
            for index in 0..self.file.num_row_groups() {
                take(group(&*self.file.get_row_group(index)?)?)?;
            }
            Ok(())
        };
        all().with_context(|| format!("reading {}", self.path.display()))
    }
}

fn group(group: &dyn RowGroupReader) -> Result<Vec<Values>> {
    let rows = usize::try_from(group.metadata().num_rows())?;
    let column = |index| -> Result<Values> {
        Ok(match group.get_column_reader(index)? {
            ColumnReader::Int32ColumnReader(column) => Values::Int32(all_of(column, rows)?),
            ColumnReader::Int64ColumnReader(column) => Values::Int64(all_of(column, rows)?),
            ColumnReader::DoubleColumnReader(column) => Values::Double(all_of(column, rows)?),
            ColumnReader::ByteArrayColumnReader(column) => {
                let text = |value: &ByteArray| Ok(value.as_utf8()?.to_owned());
                Values::Text(all_of(column, rows)?.iter().map(text).collect::<Result<_>>()?)
            }
            _ => bail!("a column has a type that no table here has"),
        })
    };
    (0..group.num_columns())
        .map(|index| column(index).with_context(|| format!("column {}", index + 1)))
        .collect()
}

fn all_of<T: DataType>(mut column: ColumnReaderImpl<T>, rows: usize) -> Result<Vec<T::T>> {
    let mut values = Vec::new();
    column.read_records(rows, None, None, &mut values)?;
    if values.len() != rows {
        bail!("{} of {rows} rows", values.len());
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: [(&str, Kind); 4] =
        [("a", Kind::Int32), ("b", Kind::Int64), ("c", Kind::Double), ("d", Kind::Text)];

    fn rows(from: i32) -> Vec<Values> {
        vec![
            Values::Int32(vec![from, -1]),
            Values::Int64(vec![i64::MIN, i64::MAX]),
            Values::Double(vec![0.5, f64::INFINITY]),
            Values::Text(vec!["host".into(), "µs".into()]),
        ]
    }

    #[test]
    fn groups_come_back_as_they_were_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        let mut writer = Writer::create(&path, "table", &SCHEMA, &[]).unwrap();
        writer.group(&rows(1)).unwrap();
        writer.group(&rows(2)).unwrap();
        assert!(!path.exists(), "not before it is complete");
        writer.finish().unwrap();
        let mut back = Vec::new();
        read(&path, &SCHEMA, |group| {
            back.push(group.to_vec());
            Ok(())
        })
        .unwrap();
        assert_eq!(back, [rows(1), rows(2)]);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn another_table_is_refused_with_the_path_and_the_columns() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        Writer::create(&path, "table", &SCHEMA[..2], &[]).unwrap().finish().unwrap();
        let error = format!("{:#}", read(&path, &SCHEMA, |_| Ok(())).unwrap_err());
        assert!(error.contains("table.parquet") && error.contains("a, b, c, d"), "{error}");
        std::fs::write(&path, b"PAR1 nonsense PAR1").unwrap();
        assert!(read(&path, &SCHEMA, |_| Ok(())).is_err());
    }
}
