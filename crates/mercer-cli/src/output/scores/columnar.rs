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

use super::{Layout, ScoreSink, Words};
use crate::failure::{Failure, Result};
use crate::output::OutputFile;

impl Layout {
    fn schema(&self) -> Arc<Schema> {
        let words = |name: &String| Field::new(name, DataType::Utf8, false);
        let scores = self.names.iter().map(|name| Field::new(name, DataType::Float64, false));
        let fields = self.id.iter().map(words).chain(scores).chain(self.label.iter().map(words));
        Arc::new(Schema::new(fields.collect::<Vec<Field>>()))
    }
}

fn batch(schema: &Arc<Schema>, scores: MatRef<'_, f64>, words: Words<'_>) -> RecordBatch {
    let texts = |words: &[String]| Arc::new(StringArray::from_iter_values(words)) as ArrayRef;
    let columns =
        scores.col_iter().map(|column| Arc::new(Float64Array::from_iter_values(column.iter().copied())) as ArrayRef);
    let arrays = words.ids.map(texts).into_iter().chain(columns).chain(words.labels.map(texts)).collect();
    RecordBatch::try_new(schema.clone(), arrays).expect("the columns are those of the schema")
}

/// Apache Parquet, compressed by the codec that every reader knows.
pub(super) struct ParquetSink {
    writer: ArrowWriter<OutputFile>,
    schema: Arc<Schema>,
    layout: Layout,
}

impl ParquetSink {
    pub(super) fn new(file: OutputFile, layout: Layout) -> Result<Self> {
        let schema = layout.schema();
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties))
            .map_err(|error| parquet_failure(&layout, error))?;
        Ok(Self { writer, schema, layout })
    }
}

impl ScoreSink for ParquetSink {
    fn write(&mut self, scores: MatRef<'_, f64>, words: Words<'_>) -> Result<()> {
        let batch = batch(&self.schema, scores, words);
        self.writer.write(&batch).map_err(|error| parquet_failure(&self.layout, error))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let Self { writer, layout, .. } = *self;
        writer.into_inner().map_err(|error| parquet_failure(&layout, error))?.commit()
    }
}

/// An Arrow file, not compressed, so that it can be mapped.
pub(super) struct ArrowSink {
    writer: FileWriter<OutputFile>,
    schema: Arc<Schema>,
    layout: Layout,
}

impl ArrowSink {
    pub(super) fn new(file: OutputFile, layout: Layout) -> Result<Self> {
        let schema = layout.schema();
        let writer = FileWriter::try_new(file, &schema).map_err(|error| arrow_failure(&layout, error))?;
        Ok(Self { writer, schema, layout })
    }
}

impl ScoreSink for ArrowSink {
    fn write(&mut self, scores: MatRef<'_, f64>, words: Words<'_>) -> Result<()> {
        let batch = batch(&self.schema, scores, words);
        self.writer.write(&batch).map_err(|error| arrow_failure(&self.layout, error))
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.writer.finish().map_err(|error| arrow_failure(&self.layout, error))?;
        let Self { writer, layout, .. } = *self;
        writer.into_inner().map_err(|error| arrow_failure(&layout, error))?.commit()
    }
}

fn arrow_failure(layout: &Layout, error: ArrowError) -> Failure {
    match error {
        ArrowError::IoError(_, source) => layout.failure(source),
        other => layout.refusal(other),
    }
}

fn parquet_failure(layout: &Layout, error: ParquetError) -> Failure {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(source) => layout.failure(*source),
            Err(other) => layout.refusal(other),
        },
        other => layout.refusal(other),
    }
}
