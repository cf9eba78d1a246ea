//! Writing aside and renaming into place.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Stdout, Write};
use std::path::{Path, PathBuf};

use mercer::aside::AsideFile;

use crate::failure::{Failure, Result};

/// A file that appears under its name only when it is complete. Dropped before [`commit`](Self::commit), it leaves nothing.
pub(crate) struct OutputFile {
    /// The name as it was typed, for messages.
    path: PathBuf,
    target: Target,
}

enum Target {
    /// A file beside the wanted one.
    Aside(BufWriter<AsideFile>),
    /// Something that is not a file and cannot be replaced: a pipe, a device.
    InPlace(BufWriter<File>),
    StandardOutput(BufWriter<Stdout>),
    /// A nameless file, whose contents go to a target of the other kinds when they are complete.
    Kept(BufWriter<File>, Box<Target>),
}

impl OutputFile {
    /// Opens a file that will be called `path`; `-` is standard output.
    ///
    /// A place that cannot be written to is refused now, not after the work.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            let target = Target::StandardOutput(BufWriter::new(io::stdout()));
            return Ok(Self { path: path.to_owned(), target });
        }
        let target = match fs::metadata(path) {
            Ok(found) if found.is_dir() => {
                return Err(Failure::usage(format!("{} is a directory; give the name of a file", path.display())));
            }
            Ok(found) if !found.is_file() => {
                let file = File::options().write(true).open(path).map_err(Failure::file("writing", path))?;
                Target::InPlace(BufWriter::new(file))
            }
            _ => Target::Aside(BufWriter::new(AsideFile::create(path).map_err(Failure::file("writing", path))?)),
        };
        Ok(Self { path: path.to_owned(), target })
    }

    /// As [`create`](Self::create), for what is written while it is not known yet whether all will be well: what cannot be taken back is
    /// not written before [`commit`](Self::commit).
    pub(crate) fn create_uncertain(path: &Path) -> Result<Self> {
        let file = Self::create(path)?;
        Ok(match file.target {
            Target::Aside(_) => file,
            target => {
                let kept = tempfile::tempfile().map_err(waiting("writing"))?;
                Self { target: Target::Kept(BufWriter::new(kept), Box::new(target)), ..file }
            }
        })
    }

    /// Whether this is a pipe or a device, which is written to where it is and has been opened.
    pub(crate) fn is_in_place(&self) -> bool {
        matches!(self.target, Target::InPlace(_))
    }

    /// Writes over the beginning of what has been written.
    pub(crate) fn write_at_start(&mut self, bytes: &[u8]) -> io::Result<()> {
        let over = |file: &mut dyn WriteSeek| {
            file.seek(SeekFrom::Start(0))?;
            file.write_all(bytes)?;
            file.seek(SeekFrom::End(0)).map(drop)
        };
        match &mut self.target {
            Target::Aside(writer) => over(writer),
            Target::Kept(writer, _) => over(writer),
            Target::InPlace(_) | Target::StandardOutput(_) => Err(io::Error::other("there is no way back in a pipe")),
        }
    }

    /// Makes the file appear under its name, on disk and complete.
    pub(crate) fn commit(self) -> Result<()> {
        match self.target {
            Target::StandardOutput(mut writer) => writer.flush().map_err(Failure::StandardOutput),
            Target::InPlace(mut writer) => writer.flush().map_err(Failure::file("writing", &self.path)),
            Target::Kept(writer, target) => {
                let kept = writer.into_inner().map_err(io::IntoInnerError::into_error);
                let mut file = Self { target: *target, path: self.path };
                file.take_over(kept.map_err(waiting("writing"))?)?;
                file.commit()
            }
            Target::Aside(writer) => writer
                .into_inner()
                .map_err(io::IntoInnerError::into_error)
                .and_then(AsideFile::commit)
                .map_err(Failure::file("writing", &self.path)),
        }
    }

    /// Writes what has waited. An error of either file is told as its own, which a plain copy would not do.
    fn take_over(&mut self, mut kept: File) -> Result<()> {
        const AT_ONCE: usize = 1 << 16;
        let mut buffer = vec![0; AT_ONCE];
        kept.rewind().map_err(waiting("reading"))?;
        loop {
            match kept.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(n) => self.write_all(&buffer[..n]).map_err(|error| self.failure(error))?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(waiting("reading")(error)),
            }
        }
    }

    /// Whether what is written waits in the temporary folder.
    pub(crate) fn is_kept(&self) -> bool {
        matches!(self.target, Target::Kept(..))
    }

    /// The file, as messages name it.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The failure that an error while writing here is.
    pub(crate) fn failure(&self, source: io::Error) -> Failure {
        match self.target {
            Target::StandardOutput(_) => Failure::StandardOutput(source),
            Target::Kept(..) => waiting("writing")(source),
            Target::Aside(_) | Target::InPlace(_) => Failure::file("writing", &self.path)(source),
        }
    }
}

/// For `map_err`: the failure that an error of the nameless file is, which no message could name but by its folder.
pub(crate) fn waiting(doing: &'static str) -> impl FnOnce(io::Error) -> Failure {
    move |source| {
        let hint =
            "what goes to standard output or a pipe waits there until it is complete; TMPDIR names another folder";
        Failure::file(doing, &std::env::temp_dir())(source).advised(hint)
    }
}

/// What can be written to at any place.
trait WriteSeek: Write + Seek {}

impl<T: Write + Seek> WriteSeek for T {}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.target {
            Target::Aside(writer) => writer.write(bytes),
            Target::InPlace(writer) | Target::Kept(writer, _) => writer.write(bytes),
            Target::StandardOutput(writer) => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::Aside(writer) => writer.flush(),
            Target::InPlace(writer) | Target::Kept(writer, _) => writer.flush(),
            Target::StandardOutput(writer) => writer.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_committed_file_replaces_the_old_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.txt");
        fs::write(&path, "old").unwrap();
        let mut file = OutputFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old", "not before it is complete");
        file.commit().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(names(directory.path()), ["out.txt"]);
    }

    #[test]
    fn what_is_uncertain_can_be_corrected_and_appears_when_it_is_complete() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.txt");
        let mut file = OutputFile::create_uncertain(&path).unwrap();
        file.write_all(b"??? rows").unwrap();
        file.write_at_start(b"two").unwrap();
        file.write_all(b" written").unwrap();
        assert!(!path.exists());
        file.commit().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two rows written");
    }

    #[test]
    fn a_dropped_file_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let mut file = OutputFile::create(&directory.path().join("out.txt")).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert!(names(directory.path()).is_empty());
    }

    #[test]
    fn places_that_cannot_be_written_are_refused_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let error = OutputFile::create(&directory.path().join("no/such/out.txt")).err().unwrap().to_string();
        assert!(error.ends_with("no/such/out.txt: no such file or directory"), "{error}");
        let error = OutputFile::create(directory.path()).err().unwrap().to_string();
        assert!(error.ends_with("is a directory; give the name of a file"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_a_device_stays_a_device() {
        let directory = tempfile::tempdir().unwrap();
        let (real, link) = (directory.path().join("real.txt"), directory.path().join("link.txt"));
        fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let mut file = OutputFile::create(&link).unwrap();
        file.write_all(b"new").unwrap();
        file.commit().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");

        let mut null = OutputFile::create(Path::new("/dev/null")).unwrap();
        null.write_all(b"gone").unwrap();
        null.commit().unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[cfg(unix)]
    #[test]
    fn a_new_file_is_readable_like_any_other() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        let (ours, usual) = (directory.path().join("ours"), directory.path().join("usual"));
        OutputFile::create(&ours).unwrap().commit().unwrap();
        fs::write(&usual, "").unwrap();
        assert_eq!(mode(&ours), mode(&usual));
    }
}
