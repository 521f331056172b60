//! The series as Parquet: `time_ns` (INT64, scenario time) and one DOUBLE per point, named by
//! the point, with its unit under `unit:<point>` in the key-value metadata. Snappy, no Arrow.
//!
//! A Parquet file ends with its table of contents, so a file that was not closed is no file at
//! all. That is why a run writes a [journal](super::journal) and turns it into this at its end,
//! under a temporary name that is then renamed.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use parquet::basic::{Compression, Repetition, Type as PhysicalType};
use parquet::column::reader::ColumnReader;
use parquet::data_type::{DoubleType, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

use super::csv::TIME_COLUMN;
use super::series::{Column, Series};
use os::regular;
use plant::name::PointName;

/// Rows per row group: what a reader must hold at once; a column of one is 512 KiB.
const ROWS_PER_GROUP: usize = 65_536;
/// Key of the metadata that says what the times mean.
const TIME_KEY: &str = "time";
/// Its value.
const TIME_MEANING: &str = "time_ns is scenario time in nanoseconds";

/// Writes a series as a whole: readers see the file complete or not at all.
///
/// # Errors
/// With the path, when the file cannot be written.
pub fn write(series: &Series, path: &Path) -> Result<()> {
    let temporary = path.with_extension("parquet.tmp");
    write_to(series, &temporary).with_context(|| format!("writing {}", temporary.display()))?;
    std::fs::rename(&temporary, path)
        .with_context(|| format!("renaming {} to {}", temporary.display(), path.display()))
}

fn write_to(series: &Series, path: &Path) -> Result<()> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(metadata(series)))
        .build();
    let file = File::create(path)?;
    let mut writer = SerializedFileWriter::new(file, schema(series)?, Arc::new(properties))?;
    let rows = series.time_ns.len();
    for from in (0..rows).step_by(ROWS_PER_GROUP) {
        let to = rows.min(from + ROWS_PER_GROUP);
        let mut group = writer.next_row_group()?;
        write_group(series, from..to, &mut group)?;
        group.close()?;
    }
    writer.into_inner()?.sync_all()?;
    Ok(())
}

fn write_group<W: Write + Send>(
    series: &Series,
    rows: std::ops::Range<usize>,
    group: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<()> {
    const PROMISED: &str = "the schema has a column for each of the series";
    let mut times = group.next_column()?.context(PROMISED)?;
    times.typed::<Int64Type>().write_batch(&series.time_ns[rows.clone()], None, None)?;
    times.close()?;
    for column in &series.columns {
        let mut values = group.next_column()?.context(PROMISED)?;
        values.typed::<DoubleType>().write_batch(&column.values[rows.clone()], None, None)?;
        values.close()?;
    }
    Ok(())
}

fn schema(series: &Series) -> Result<TypePtr> {
    let mut fields = vec![field(TIME_COLUMN, PhysicalType::INT64)?];
    for column in &series.columns {
        fields.push(field(&column.point.0, PhysicalType::DOUBLE)?);
    }
    Ok(Arc::new(Type::group_type_builder("series").with_fields(fields).build()?))
}

fn field(name: &str, kind: PhysicalType) -> Result<TypePtr> {
    let field = Type::primitive_type_builder(name, kind).with_repetition(Repetition::REQUIRED);
    Ok(Arc::new(field.build()?))
}

fn metadata(series: &Series) -> Vec<KeyValue> {
    let mut pairs = vec![KeyValue::new(TIME_KEY.to_owned(), TIME_MEANING.to_owned())];
    for column in &series.columns {
        pairs.push(KeyValue::new(unit_key(&column.point.0), column.unit.clone()));
    }
    pairs
}

fn unit_key(point: &str) -> String {
    format!("unit:{point}")
}

/// Reads a series.
///
/// # Errors
/// With the path, when the file is no Parquet file or has other columns than a series.
pub fn read(path: &Path) -> Result<Series> {
    read_from(path).with_context(|| format!("reading {}", path.display()))
}

fn read_from(path: &Path) -> Result<Series> {
    let reader = SerializedFileReader::new(regular::open(path)?)?;
    let mut series = columns_of(&reader)?;
    for index in 0..reader.num_row_groups() {
        read_group(&*reader.get_row_group(index)?, &mut series)?;
    }
    Ok(series)
}

fn columns_of(reader: &SerializedFileReader<File>) -> Result<Series> {
    let file = reader.metadata().file_metadata();
    let fields = file.schema_descr().columns();
    let wanted = |index: usize| {
        if index == 0 { PhysicalType::INT64 } else { PhysicalType::DOUBLE }
    };
    for (index, column) in fields.iter().enumerate() {
        if column.physical_type() != wanted(index) || column.max_def_level() != 0 {
            bail!("column `{}` is not a required {:?}", column.name(), wanted(index));
        }
    }
    if fields.first().is_none_or(|first| first.name() != TIME_COLUMN) {
        bail!("the first column must be `{TIME_COLUMN}`");
    }
    let unit = |point: &str| {
        let pairs = file.key_value_metadata().into_iter().flatten();
        let mut found = pairs.filter(|pair| pair.key == unit_key(point));
        found.next().and_then(|pair| pair.value.clone()).unwrap_or_default()
    };
    let columns = fields.iter().skip(1).map(|column| Column {
        point: PointName(column.name().to_owned()),
        unit: unit(column.name()),
        values: Vec::new(),
    });
    Ok(Series { time_ns: Vec::new(), columns: columns.collect() })
}

fn read_group(group: &dyn RowGroupReader, series: &mut Series) -> Result<()> {
    let rows = usize::try_from(group.metadata().num_rows())?;
    if let ColumnReader::Int64ColumnReader(mut times) = group.get_column_reader(0)? {
        times.read_records(rows, None, None, &mut series.time_ns)?;
    }
    let total = series.time_ns.len();
    for (index, column) in series.columns.iter_mut().enumerate() {
        if let ColumnReader::DoubleColumnReader(mut values) = group.get_column_reader(index + 1)? {
            values.read_records(rows, None, None, &mut column.values)?;
        }
        if column.values.len() != total {
            bail!("column `{}` has {} of {total} rows", column.point.0, column.values.len());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: i64) -> Series {
        let names = ["bus.680.v1", "generator.wind.kW"];
        let mut series = Series::empty(&names.map(|name| PointName(name.into())));
        for row in 0..rows {
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            series.push(row * 1_000_000, &[2400.0 + row as f64, f64::NAN]);
        }
        series
    }

    #[test]
    fn a_table_of_several_row_groups_comes_back_with_names_and_units() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("series.parquet");
        let series = table(150_000);
        write(&series, &path).unwrap();
        let back = read(&path).unwrap();
        assert_eq!(back.time_ns, series.time_ns);
        assert_eq!(back.columns[0], series.columns[0]);
        assert_eq!(back.columns[1].unit, "kW");
        assert!(back.columns[1].values.iter().all(|value| value.is_nan()));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary is left");
    }

    #[test]
    fn a_table_without_rows_is_a_table() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("series.parquet");
        write(&table(0), &path).unwrap();
        assert_eq!(read(&path).unwrap(), table(0));
    }

    #[test]
    fn what_is_no_parquet_is_refused_with_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("series.parquet");
        std::fs::write(&path, b"PAR1 not really PAR1").unwrap();
        assert!(format!("{:#}", read(&path).unwrap_err()).contains("series.parquet"));
    }
}
