//! Rows as they come, without waiting for more than there is.
//!
//! Standard input is read on a thread of its own, so that the wish to stop, and the time for a checkpoint, are noticed while nothing
//! comes.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use crate::args::{DataArgs, RowArgs};
use crate::failure::{Failure, Result};
use crate::input::{ReadOptions, RowSource, StreamedRow};

/// Bytes that are read at once, if there are so many.
const PIECE: usize = 1 << 16;
/// Pieces that may wait to be learned from.
const WAITING: usize = 4;
/// How long nothing may come before something else is looked at.
const PATIENCE: Duration = Duration::from_millis(100);

/// What has come.
pub(super) enum Arrival {
    /// Rows that are complete.
    Rows(Vec<StreamedRow>),
    /// Nothing for a while.
    Nothing,
    /// The end, and the row that was not complete before it.
    End(Option<StreamedRow>),
}

/// Rows as they come.
pub(super) struct Arrivals {
    pieces: Receiver<io::Result<Vec<u8>>>,
    source: RowSource,
}

impl Arrivals {
    /// Rows of standard input; `names` and `width` are those of the columns that `owner` has learned before. Without names, a wish to go by
    /// position may be about something else: `elsewhere`.
    ///
    /// # Errors
    ///
    /// If names are not to be looked at, and there are none.
    pub(super) fn from_standard_input(
        args: &RowArgs,
        names: Option<&[String]>,
        width: Option<usize>,
        owner: &str,
        elsewhere: bool,
    ) -> Result<Self> {
        let options = ReadOptions::from(&DataArgs {
            columns: args.columns.clone(),
            drop: args.drop.clone(),
            header: args.header,
            no_header: args.no_header,
            delimiter: args.delimiter,
            ..DataArgs::default()
        });
        let by_position = args.by_position && !(elsewhere && names.is_none());
        let options = options.by_position(by_position).wanted(names, owner)?;
        let (sender, pieces) = sync_channel(WAITING);
        // It ends with the input, or with the process.
        std::thread::spawn(move || {
            let mut stdin = io::stdin().lock();
            let mut piece = vec![0; PIECE];
            loop {
                let read = match stdin.read(&mut piece) {
                    Ok(0) => break,
                    Ok(n) => Ok(piece[..n].to_vec()),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let failed = read.is_err();
                if sender.send(read).is_err() || failed {
                    break;
                }
            }
        });
        Ok(Self { pieces, source: RowSource::new(options, args.format, width) })
    }

    /// What the columns of rows are called, as far as that is known yet.
    pub(super) fn names(&self) -> Option<&[String]> {
        self.source.names()
    }

    /// What is to be said of columns that nobody wants, as far as that is known yet.
    pub(super) fn remark(&self) -> Option<String> {
        self.source.remark()
    }

    /// Waits a little for what comes next.
    pub(super) fn next(&mut self) -> Result<Arrival> {
        match self.pieces.recv_timeout(PATIENCE) {
            Ok(Ok(piece)) => Ok(Arrival::Rows(self.source.rows(&piece)?)),
            Ok(Err(error)) => Err(Failure::file("reading", "standard input".as_ref())(error)),
            Err(RecvTimeoutError::Timeout) => Ok(Arrival::Nothing),
            Err(RecvTimeoutError::Disconnected) => Ok(Arrival::End(self.source.last_row()?)),
        }
    }
}
