//! Scores as tables of columns: Parquet and Arrow.

use std::io;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use faer::MatRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::{Layout, ScoreSink};
use crate::failure::{Failure, Result};
use crate::input::Labels;
use crate::output::OutputFile;

impl Layout<'_> {
    fn schema(&self) -> Arc<Schema> {
        let words = |words: &Labels| Field::new(&words.name, DataType::Utf8, false);
        let scores = self.names.iter().map(|name| Field::new(name, DataType::Float64, false));
        let fields: Vec<Field> = self.ids.map(words).into_iter().chain(scores).chain(self.labels.map(words)).collect();
        Arc::new(Schema::new(fields))
    }

    fn batch(&self, schema: &Arc<Schema>, first_row: usize, scores: MatRef<'_, f64>) -> RecordBatch {
        let rows = first_row..first_row + scores.nrows();
        let words = |words: &Labels| Arc::new(StringArray::from_iter_values(&words.values[rows.clone()])) as ArrayRef;
        let columns = scores
            .col_iter()
            .map(|column| Arc::new(Float64Array::from_iter_values(column.iter().copied())) as ArrayRef);
        let arrays = self.ids.map(words).into_iter().chain(columns).chain(self.labels.map(words)).collect();
        RecordBatch::try_new(schema.clone(), arrays).expect("the columns are those of the schema")
    }
}

/// Apache Parquet, compressed by the codec that every reader knows.
pub(super) struct ParquetSink<'a> {
    writer: ArrowWriter<OutputFile>,
    schema: Arc<Schema>,
    layout: Layout<'a>,
}

impl<'a> ParquetSink<'a> {
    pub(super) fn new(file: OutputFile, layout: Layout<'a>) -> Result<Self> {
        let schema = layout.schema();
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties))
            .map_err(|error| parquet_failure(&layout, error))?;
        Ok(Self { writer, schema, layout })
    }
}

impl ScoreSink for ParquetSink<'_> {
    fn write(&mut self, first_row: usize, scores: MatRef<'_, f64>) -> Result<()> {
        let batch = self.layout.batch(&self.schema, first_row, scores);
        self.writer.write(&batch).map_err(|error| parquet_failure(&self.layout, error))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let Self { writer, layout, .. } = *self;
        writer.into_inner().map_err(|error| parquet_failure(&layout, error))?.commit()
    }
}

/// An Arrow file, not compressed, so that it can be mapped.
pub(super) struct ArrowSink<'a> {
    writer: FileWriter<OutputFile>,
    schema: Arc<Schema>,
    layout: Layout<'a>,
}

impl<'a> ArrowSink<'a> {
    pub(super) fn new(file: OutputFile, layout: Layout<'a>) -> Result<Self> {
        let schema = layout.schema();
        let writer = FileWriter::try_new(file, &schema).map_err(|error| arrow_failure(&layout, error))?;
        Ok(Self { writer, schema, layout })
    }
}

impl ScoreSink for ArrowSink<'_> {
    fn write(&mut self, first_row: usize, scores: MatRef<'_, f64>) -> Result<()> {
        let batch = self.layout.batch(&self.schema, first_row, scores);
        self.writer.write(&batch).map_err(|error| arrow_failure(&self.layout, error))
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.writer.finish().map_err(|error| arrow_failure(&self.layout, error))?;
        let Self { writer, layout, .. } = *self;
        writer.into_inner().map_err(|error| arrow_failure(&layout, error))?.commit()
    }
}

fn arrow_failure(layout: &Layout<'_>, error: ArrowError) -> Failure {
    match error {
        ArrowError::IoError(_, source) => layout.failure(source),
        other => layout.refusal(other),
    }
}

fn parquet_failure(layout: &Layout<'_>, error: ParquetError) -> Failure {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(source) => layout.failure(*source),
            Err(other) => layout.refusal(other),
        },
        other => layout.refusal(other),
    }
}
