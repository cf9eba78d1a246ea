//! Files that appear under their names complete, or not at all.
//!
//! # Method
//!
//! What is to be `NAME` is written beside it, as `NAME.PID-N.part`, brought to the disk, and renamed. Whoever writes such a file holds a lock on
//! it until then. The system takes the lock from a process that ends, however it ends, so a file of this name that can be locked is one that
//! nobody will ever finish: the next one to write `NAME` removes it.
//!
//! A file that replaces another has the permissions of the other, and until it does, nobody but its owner may read it.
//!
//! Nothing else is ever removed, and nothing that is being written. A name is removed only by somebody who holds the lock of the file that
//! it stands for, and whoever has just made a file and finds it locked or gone makes another. Where files cannot be locked, nothing is removed.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// A file on its way to its name. Dropped before [`commit`](Self::commit), it leaves nothing.
///
/// ```
/// use std::io::Write;
///
/// use mercer::aside::AsideFile;
///
/// # let folder = std::env::temp_dir().join(format!("mercer-aside-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("scores.csv");
/// let mut file = AsideFile::create(&path)?;
/// file.write_all(b"x,y\n")?;
/// assert!(!path.exists());
/// file.commit()?;
/// assert_eq!(std::fs::read(&path)?, b"x,y\n");
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct AsideFile {
    file: File,
    aside: PathBuf,
    place: PathBuf,
    /// What is replaced, if there is something.
    replaced: Option<Box<fs::Metadata>>,
    is_in_place: bool,
}

/// How names of files aside end.
const ENDING: &str = ".part";
/// Bytes of a name from which on it is shortened: file systems allow 255, and something is added.
const LONG: usize = 200;
/// Bytes that are left of a long name.
const KEPT: usize = 100;

impl AsideFile {
    /// Opens a file that will be called `path`, or what `path` links to, and clears away what processes that were killed have left of earlier
    /// ones.
    ///
    /// # Errors
    ///
    /// If a file cannot be made there.
    pub fn create(path: &Path) -> io::Result<Self> {
        let place = place_of(path);
        let replaced = match fs::metadata(&place) {
            Ok(found) => Some(Box::new(found)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            // A name that is too long, a folder that is a file: found out now, not after the work.
            Err(error) => return Err(error),
        };
        let name = place.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidFilename))?;
        let stem = stem(name);
        remove_abandoned(directory_of(&place), &stem);
        for number in 0_u64.. {
            let aside = place.with_file_name(aside_name(&stem, number));
            let file = match options(replaced.is_some()).open(&aside) {
                // Another thread of this process, or one of another machine.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                outcome => outcome?,
            };
            match file.try_lock() {
                // Somebody came in between and takes it for abandoned.
                Err(TryLockError::WouldBlock) => continue,
                Ok(()) if !is_called(&file, &aside) => continue,
                // Without a lock it is never taken for abandoned.
                Ok(()) | Err(TryLockError::Error(_)) => {}
            }
            return Ok(Self { file, aside, place, replaced, is_in_place: false });
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Brings the file to the disk and gives it its name.
    ///
    /// # Errors
    ///
    /// If the system refuses; nothing is left of the file then.
    pub fn commit(mut self) -> io::Result<()> {
        if let Some(replaced) = &self.replaced {
            take_permissions(&self.file, replaced)?;
        }
        // Before the rename: a crash must not leave the new name with none of the new bytes.
        self.file.sync_all()?;
        fs::rename(&self.aside, &self.place)?;
        self.is_in_place = true;
        Ok(())
    }
}

impl Drop for AsideFile {
    fn drop(&mut self) {
        if !self.is_in_place {
            // What cannot be removed stays, for the next one to remove.
            let _ = fs::remove_file(&self.aside);
        }
    }
}

impl Write for AsideFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for AsideFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// The file that is written if somebody writes to `path`: a link keeps pointing where it did, and what it points to is replaced, or made if it
/// is not there.
///
/// ```
/// use std::path::Path;
///
/// use mercer::aside::place_of;
///
/// assert_eq!(place_of(Path::new("no/such/file")), Path::new("no/such/file"));
/// ```
pub fn place_of(path: &Path) -> PathBuf {
    // As many as systems follow; whoever opens one of a longer chain, or of a circle, is told so by them.
    const LINKS: usize = 40;
    if let Ok(there) = fs::canonicalize(path) {
        return there;
    }
    let mut place = path.to_owned();
    for _ in 0..LINKS {
        match fs::read_link(&place) {
            // A target is seen from the folder of the link.
            Ok(target) => place = directory_of(&place).join(target),
            Err(_) => return place,
        }
    }
    path.to_owned()
}

/// How a file aside is opened: as any other, or, where another is replaced, for its owner alone.
fn options(replaces: bool) -> fs::OpenOptions {
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    if replaces {
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    options
}

/// Lets those read and write a file who may with another; fewer, if it cannot be given to the group of the other.
#[cfg(unix)]
fn take_permissions(file: &File, replaced: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    const ALL: u32 = 0o777;
    const GROUP: u32 = 0o070;
    let own = file.metadata()?;
    let (user, group) = (replaced.uid(), replaced.gid());
    let mut keeps_group = own.gid() == group;
    if (own.uid(), own.gid()) != (user, group) {
        // Only the superuser can give a file to others, and people to groups that they are in.
        keeps_group = fchown(file, Some(user), Some(group)).or_else(|_| fchown(file, None, Some(group))).is_ok();
    }
    let mode = replaced.mode() & ALL;
    // Another group may do no more than everybody may.
    let mode = if keeps_group { mode } else { mode & (!GROUP | (mode << 3)) };
    file.set_permissions(fs::Permissions::from_mode(mode))
}

/// Elsewhere a file has the permissions of its folder.
#[cfg(not(unix))]
fn take_permissions(_: &File, _: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

/// Removes what this process is writing aside in a directory, for when it is about to end in the middle of that.
///
/// ```
/// use mercer::aside::{AsideFile, remove_own};
///
/// # let folder = std::env::temp_dir().join(format!("mercer-own-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let file = AsideFile::create(&folder.join("scores.csv"))?;
/// remove_own(&folder);
/// assert_eq!(std::fs::read_dir(&folder)?.count(), 0);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn remove_own(directory: &Path) {
    let own = std::process::id().to_string();
    for path in files_that(directory, |name| parts_of(name).is_some_and(|(_, process)| process == own.as_bytes())) {
        // What cannot be removed stays; there is nobody left to tell.
        let _ = fs::remove_file(path);
    }
}

/// Removes files aside of one name that nobody is writing any more.
fn remove_abandoned(directory: &Path, stem: &OsStr) {
    let is_aside = |name: &OsStr| parts_of(name).is_some_and(|(found, _)| found == stem.as_encoded_bytes());
    for path in files_that(directory, is_aside) {
        let Ok(file) = File::options().write(true).open(&path) else { continue };
        if file.try_lock().is_ok() && is_called(&file, &path) {
            // The lock is held until the name is gone. What cannot be removed stays.
            let _ = fs::remove_file(&path);
        }
    }
}

/// Files of a directory whose names are as wanted; none of one that cannot be read.
fn files_that(directory: &Path, is_wanted: impl Fn(&OsStr) -> bool) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    entries
        .filter(move |entry| is_wanted(&entry.file_name()) && entry.file_type().is_ok_and(|kind| kind.is_file()))
        .map(|entry| entry.path())
}

/// Whether an open file still has a name.
fn is_called(file: &File, path: &Path) -> bool {
    let (Ok(open), Ok(named)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
    is_same(&open, &named)
}

#[cfg(unix)]
fn is_same(open: &fs::Metadata, named: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (open.dev(), open.ino()) == (named.dev(), named.ino())
}

/// Elsewhere a name is not given to another file while the one that had it is open.
#[cfg(not(unix))]
fn is_same(_: &fs::Metadata, named: &fs::Metadata) -> bool {
    named.is_file()
}

fn directory_of(place: &Path) -> &Path {
    place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// What the names of files aside begin with: the name itself, or the beginning of a long one and what tells it from others.
fn stem(name: &OsStr) -> OsString {
    let bytes = name.as_encoded_bytes();
    if bytes.len() <= LONG {
        return name.to_owned();
    }
    let digest = Sha256::digest(bytes);
    let told = u64::from_le_bytes(std::array::from_fn(|i| digest[i]));
    let beginning = String::from_utf8_lossy(&bytes[..KEPT]).replace(char::REPLACEMENT_CHARACTER, "");
    OsString::from(format!("{beginning}~{told:016x}"))
}

fn aside_name(stem: &OsStr, number: u64) -> OsString {
    let mut name = stem.to_owned();
    name.push(format!(".{}-{number}{ENDING}", std::process::id()));
    name
}

/// Stem and process of the name of a file aside.
fn parts_of(name: &OsStr) -> Option<(&[u8], &[u8])> {
    let rest = name.as_encoded_bytes().strip_suffix(ENDING.as_bytes())?;
    let (rest, number) = split_at_last(rest, b'-')?;
    let (stem, process) = split_at_last(rest, b'.')?;
    let is_number = |digits: &[u8]| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    (is_number(number) && is_number(process) && !stem.is_empty()).then_some((stem, process))
}

fn split_at_last(bytes: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().rposition(|&byte| byte == separator)?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).expect("a directory");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn what_nobody_finishes_is_cleared_away_and_nothing_else_is() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        // Left by two processes that were killed; and the file of one that is at work, which holds its lock.
        for name in ["m.mercer.1-0.part", "m.mercer.4000000000-17.part", "m.mercer.2-0.part"] {
            fs::write(path(name), "half").expect("written");
        }
        let at_work = File::open(path("m.mercer.2-0.part")).expect("there");
        at_work.lock().expect("locked");
        // Of other names, and what only looks like one of ours.
        let others = ["m.mercer", "m.mercer.1.part", "m.mercer.1-.part", "m.mercer.x-0.part", "n.mercer.1-0.part"];
        for name in others.iter().chain(&["am.mercer.1-0.part", "m.mercer.1-0.part.txt", ".1-0.part"]) {
            fs::write(path(name), "theirs").expect("written");
        }
        fs::create_dir(path("m.mercer.3-0.part")).expect("a folder");

        let file = AsideFile::create(&path("m.mercer")).expect("a place to write");
        let own = format!("m.mercer.{}-0.part", std::process::id());
        let mut expected = vec![own.as_str(), "m.mercer.2-0.part", "m.mercer.3-0.part"];
        expected.extend(others);
        expected.extend(["am.mercer.1-0.part", "m.mercer.1-0.part.txt", ".1-0.part"]);
        expected.sort_unstable();
        assert_eq!(names(directory.path()), expected);

        drop(at_work);
        file.commit().expect("committed");
        drop(AsideFile::create(&path("m.mercer")).expect("a place to write"));
        expected.retain(|name| *name != own && *name != "m.mercer.2-0.part");
        assert_eq!(names(directory.path()), expected);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_replaces_another_is_for_the_same_people_and_until_then_for_its_owner() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("m.mercer");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        for wanted in [0o600, 0o640, 0o444, 0o666] {
            fs::write(&path, "old").expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(wanted)).expect("set");
            let file = AsideFile::create(&path).expect("a place to write");
            assert_eq!(mode(&file.aside), 0o600, "before {wanted:o}");
            file.commit().expect("committed");
            assert_eq!(mode(&path), wanted);
            fs::remove_file(&path).expect("removed");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_nothing_stays_a_link_and_its_target_is_written() {
        use std::os::unix::fs::symlink;
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        fs::create_dir(path("folder")).expect("a folder");
        // Seen from their own folders, one after the other.
        symlink("folder/second", path("first")).expect("a link");
        symlink("target", path("folder/second")).expect("a link");
        let mut file = AsideFile::create(&path("first")).expect("a place to write");
        file.write_all(b"new").expect("written");
        file.commit().expect("committed");
        for link in ["first", "folder/second"] {
            assert!(fs::symlink_metadata(path(link)).expect("there").is_symlink(), "{link}");
        }
        assert_eq!(fs::read(path("folder/target")).expect("there"), b"new");
        symlink("circle", path("circle")).expect("a link");
        assert!(AsideFile::create(&path("circle")).is_err());
        symlink("no/such", path("astray")).expect("a link");
        assert!(AsideFile::create(&path("astray")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_of_the_right_name_is_left_alone() {
        let directory = tempfile::tempdir().expect("a directory");
        let (target, link) = (directory.path().join("precious"), directory.path().join("m.1-0.part"));
        fs::write(&target, "old").expect("written");
        std::os::unix::fs::symlink(&target, &link).expect("a link");
        drop(AsideFile::create(&directory.path().join("m")).expect("a place to write"));
        assert_eq!(names(directory.path()), ["m.1-0.part", "precious"]);
    }

    #[test]
    fn threads_that_write_the_same_file_do_not_meet() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("m.mercer");
        let texts: Vec<String> = (0..4).map(|thread| thread.to_string().repeat(100_000)).collect();
        std::thread::scope(|scope| {
            for text in &texts {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let mut file = AsideFile::create(&path).expect("a place to write");
                        file.write_all(text.as_bytes()).expect("written");
                        file.commit().expect("its own file is still there");
                    }
                });
            }
        });
        assert!(texts.contains(&fs::read_to_string(&path).expect("there")), "one of them, and whole");
        assert_eq!(names(directory.path()), ["m.mercer"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn names_may_be_as_long_as_the_file_system_allows() {
        let directory = tempfile::tempdir().expect("a directory");
        let long =
            |last: char, length: usize| directory.path().join("ä".repeat(120) + &last.to_string().repeat(length));
        for path in [long('a', 15), long('b', 15)] {
            let abandoned = path.with_file_name(aside_name(&stem(path.file_name().expect("a name")), 5));
            fs::write(&abandoned, "half").expect("written");
            let mut file = AsideFile::create(&path).expect("a place to write");
            file.write_all(b"all").expect("written");
            assert!(!abandoned.exists());
            file.commit().expect("committed");
            assert_eq!(fs::read(&path).expect("there"), b"all");
        }
        assert_eq!(names(directory.path()).len(), 2);
        let error = AsideFile::create(&long('a', 16)).expect_err("256 bytes are too many");
        assert_eq!(error.kind(), io::ErrorKind::InvalidFilename);
        assert!(AsideFile::create(Path::new("/")).is_err() && AsideFile::create(Path::new("no/such")).is_err());
    }

    #[test]
    fn what_this_process_was_writing_is_removed_and_nothing_else() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = AsideFile::create(&directory.path().join("model.mercer")).expect("a place to write");
        for name in ["model.mercer.1-0.part", "scores.csv"] {
            fs::write(directory.path().join(name), "half").expect("written");
        }
        remove_own(directory.path());
        remove_own(&directory.path().join("nowhere"));
        assert_eq!(names(directory.path()), ["model.mercer.1-0.part", "scores.csv"]);
        // It is gone, and that is no reason to fail.
        drop(file);
    }
}
