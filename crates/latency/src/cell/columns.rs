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
use parquet::column::reader::ColumnReader;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type, TypePtr};

/// Rows of a group: what a reader must hold at once.
pub const GROUP_ROWS: usize = 65_536;

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// 32-bit whole numbers.
    Int32,
    /// 64-bit whole numbers.
    Int64,
    /// Floating point.
    Double,
    /// Text.
    Text,
}

/// The values of a column in a group of rows.
#[derive(Clone, PartialEq, Debug)]
pub enum Values {
    /// 32-bit whole numbers.
    Int32(Vec<i32>),
    /// 64-bit whole numbers.
    Int64(Vec<i64>),
    /// Floating point; NaN where there is none.
    Double(Vec<f64>),
    /// Text.
    Text(Vec<String>),
}

impl Values {
    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Int32(values) => values.len(),
            Self::Int64(values) => values.len(),
            Self::Double(values) => values.len(),
            Self::Text(values) => values.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Name and kind of each column of a table.
pub type Schema = [(&'static str, Kind)];

/// Writes a table under a temporary name, which becomes the real one when all is written: readers
/// see it complete or not at all.
pub struct Writer {
    path: PathBuf,
    temporary: PathBuf,
    file: SerializedFileWriter<File>,
}

impl Writer {
    /// Begins a table.
    ///
    /// # Errors
    /// With the path, if the file cannot be made.
    pub fn create(path: &Path, name: &str, schema: &Schema) -> Result<Self> {
        let temporary = path.with_extension("parquet.tmp");
        let begun = || -> Result<_> {
            let file = File::create(&temporary)?;
            Ok(SerializedFileWriter::new(file, group_type(name, schema)?, properties(schema))?)
        };
        let file = begun().with_context(|| format!("writing {}", temporary.display()))?;
        Ok(Self { path: path.to_owned(), temporary, file })
    }

    /// Adds a group of rows, a vector for each column.
    ///
    /// # Errors
    /// If it cannot be written, or the columns are not those of the schema.
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
    ///
    /// # Errors
    /// With the path, if it cannot be written.
    pub fn finish(self) -> Result<()> {
        let finished = || -> Result<()> {
            self.file.into_inner()?.sync_all()?;
            Ok(std::fs::rename(&self.temporary, &self.path)?)
        };
        finished().with_context(|| format!("writing {}", self.path.display()))
    }
}

fn properties(schema: &Schema) -> Arc<WriterProperties> {
    let whole = |kind: Kind| matches!(kind, Kind::Int32 | Kind::Int64);
    let mut properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    for (name, _) in schema.iter().filter(|(_, kind)| whole(*kind)) {
        let path = ColumnPath::from(*name);
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    Arc::new(properties.build())
}

fn group_type(name: &str, schema: &Schema) -> Result<TypePtr> {
    let field = |(name, kind): &(&str, Kind)| -> Result<TypePtr> {
        let field = match kind {
            Kind::Text => Type::primitive_type_builder(name, PhysicalType::BYTE_ARRAY)
                .with_converted_type(ConvertedType::UTF8),
            other => Type::primitive_type_builder(name, physical(*other)),
        };
        Ok(Arc::new(field.with_repetition(Repetition::REQUIRED).build()?))
    };
    let fields = schema.iter().map(field).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(Type::group_type_builder(name).with_fields(fields).build()?))
}

fn physical(kind: Kind) -> PhysicalType {
    match kind {
        Kind::Int32 => PhysicalType::INT32,
        Kind::Int64 => PhysicalType::INT64,
        Kind::Double => PhysicalType::DOUBLE,
        Kind::Text => PhysicalType::BYTE_ARRAY,
    }
}

/// Reads a table, and hands each group of rows to `take`.
///
/// # Errors
/// With the path, if it is no such table, or `take` says so.
pub fn read(
    path: &Path,
    schema: &Schema,
    mut take: impl FnMut(&[Values]) -> Result<()>,
) -> Result<()> {
    let mut all = || -> Result<()> {
        let file = SerializedFileReader::new(File::open(path)?)?;
        expect_schema(&file, schema)?;
        for index in 0..file.num_row_groups() {
            take(&group(&*file.get_row_group(index)?, schema)?)?;
        }
        Ok(())
    };
    all().with_context(|| format!("reading {}", path.display()))
}

fn expect_schema(file: &SerializedFileReader<File>, schema: &Schema) -> Result<()> {
    let columns = file.metadata().file_metadata().schema_descr().columns();
    let same = columns.len() == schema.len()
        && columns.iter().zip(schema).all(|(column, (name, kind))| {
            column.name() == *name
                && column.physical_type() == physical(*kind)
                && column.max_def_level() == 0
                && column.max_rep_level() == 0
        });
    if !same {
        let wanted: Vec<&str> = schema.iter().map(|(name, _)| *name).collect();
        bail!("the columns must be {}", wanted.join(", "));
    }
    Ok(())
}

fn group(group: &dyn RowGroupReader, schema: &Schema) -> Result<Vec<Values>> {
    let rows = usize::try_from(group.metadata().num_rows())?;
    let mut columns = Vec::new();
    for (index, (name, _)) in schema.iter().enumerate() {
        let values = match group.get_column_reader(index)? {
            ColumnReader::Int32ColumnReader(mut column) => {
                let mut values = Vec::new();
                column.read_records(rows, None, None, &mut values)?;
                Values::Int32(values)
            }
            ColumnReader::Int64ColumnReader(mut column) => {
                let mut values = Vec::new();
                column.read_records(rows, None, None, &mut values)?;
                Values::Int64(values)
            }
            ColumnReader::DoubleColumnReader(mut column) => {
                let mut values = Vec::new();
                column.read_records(rows, None, None, &mut values)?;
                Values::Double(values)
            }
            ColumnReader::ByteArrayColumnReader(mut column) => {
                let mut values: Vec<ByteArray> = Vec::new();
                column.read_records(rows, None, None, &mut values)?;
                let text = |value: &ByteArray| Ok(value.as_utf8()?.to_owned());
                Values::Text(values.iter().map(text).collect::<Result<_>>()?)
            }
            _ => bail!("column `{name}` has a type that no table here has"),
        };
        if values.len() != rows {
            bail!("column `{name}` has {} of {rows} rows", values.len());
        }
        columns.push(values);
    }
    Ok(columns)
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
        let mut writer = Writer::create(&path, "table", &SCHEMA).unwrap();
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
        Writer::create(&path, "table", &SCHEMA[..2]).unwrap().finish().unwrap();
        let error = format!("{:#}", read(&path, &SCHEMA, |_| Ok(())).unwrap_err());
        assert!(error.contains("table.parquet") && error.contains("a, b, c, d"), "{error}");
        std::fs::write(&path, b"PAR1 nonsense PAR1").unwrap();
        assert!(read(&path, &SCHEMA, |_| Ok(())).is_err());
    }
}
