//! Everything that is read without git equals what git reads; unusual objects are not read.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;

use acquit_testkit::repo::Repo;

use super::*;

const FORMATS: [(ObjectFormat, &str); 2] =
    [(ObjectFormat::Sha1, "--object-format=sha1"), (ObjectFormat::Sha256, "--object-format=sha256")];

struct Bench {
    repo: Repo,
    format: ObjectFormat,
}

/// Whether a part of a commit is supported here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Ordinary,
    Odd,
}
use Part::{Odd, Ordinary};

impl Bench {
    fn new((format, init): (ObjectFormat, &str)) -> Self {
        let repo = Repo::with(&[init]);
        repo.git(&["config", "core.looseCompression", "0"]);
        Self { repo, format }
    }

    fn git_dir(&self) -> PathBuf {
        self.repo.path().join(".git")
    }

    fn place(&self, id: &CommitId) -> PathBuf {
        let (folder, file) = id.as_str().split_at(2);
        self.git_dir().join("objects").join(folder).join(file)
    }

    fn read(&self, id: &CommitId) -> Option<Commit> {
        Commit::read(&[self.git_dir()], id)
    }

    /// Makes git store these as commits, regardless of their content.
    fn store(&self, commits: &[Vec<u8>]) -> Vec<CommitId> {
        let folder = self.repo.beside("raw");
        fs::create_dir_all(&folder).unwrap();
        let write = |(number, bytes): (usize, &Vec<u8>)| {
            let file = folder.join(number.to_string());
            fs::write(&file, bytes).unwrap();
            file.to_str().unwrap().to_owned()
        };
        let files: Vec<String> = commits.iter().enumerate().map(write).collect();
        let mut args = vec!["hash-object", "-w", "-t", "commit", "--literally", "--no-filters"];
        args.extend(files.iter().map(String::as_str));
        self.repo.git(&args).lines().map(|id| id.parse().unwrap()).collect()
    }

    /// Creates an ordinary commit of the empty tree.
    fn commit(&self, parents: &[&CommitId], message: &str) -> CommitId {
        let mut args = vec!["commit-tree", "-m", message];
        parents.iter().for_each(|parent| args.extend(["-p", parent.as_str()]));
        args.push(self.tree());
        self.repo.git(&args).parse().unwrap()
    }

    fn tree(&self) -> &'static str {
        // Git knows it without storing it.
        self.format.empty_tree()
    }

    /// Writes an object by hand, under the id of its content.
    fn plant(&self, object: &[u8]) -> CommitId {
        let id: CommitId = name(self.format, &[object]).parse().unwrap();
        self.put(&id, &wrapped(object));
        id
    }

    fn put(&self, id: &CommitId, file: &[u8]) {
        let place = self.place(id);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&place);
        fs::write(place, file).unwrap();
    }
}

/// Wraps an object as zlib does without compression: one block, if it is short enough.
fn wrapped(object: &[u8]) -> Vec<u8> {
    let length = u16::try_from(object.len()).unwrap();
    let mut file = vec![0x78, 0x01, 1];
    file.extend(length.to_le_bytes());
    file.extend((!length).to_le_bytes());
    file.extend(object);
    file.extend(adler32(object).to_be_bytes());
    file
}

/// Returns the output of `git log` by commit: tree, parents, author, date, subject and message.
fn as_git_reads(bench: &Bench, ids: &[CommitId]) -> BTreeMap<String, [String; 6]> {
    let mut args = vec!["log", "--no-walk=unsorted", "-z", "--encoding=UTF-8", "--no-mailmap"];
    args.push("--format=%H%x02%T%x02%P%x02%an <%ae>%x02%ct%x02%s%x02%B%x02");
    args.extend(ids.iter().map(CommitId::as_str));
    let text = bench.repo.git(&args);
    let row = |row: &str| {
        let mut fields = row.split('\x02').map(str::to_owned);
        let id = fields.next().unwrap();
        let rest: Vec<String> = fields.take(6).collect();
        (id, rest.try_into().expect("six fields"))
    };
    text.split('\0').filter(|row| !row.is_empty()).map(row).collect()
}

#[test]
fn what_is_read_is_what_git_reads() {
    let people = [
        (Ordinary, "Ada Lovelace <ada@example.org> 1700000000 +0000"),
        (Ordinary, "Grüße – 名前 <a.b+c@example.org> 1 -1130"),
        (Ordinary, "a  b <> 0 +0000"),
        (Ordinary, "O'Neil, \"Q\" (x) <not an address> 4102444800 +0545"),
        (Odd, "  lead <a@b> 1 +0000"),
        (Odd, "tail  <a@b> 1 +0000"),
        (Odd, " <nobody@example.org> 1 +0000"),
        (Odd, "two <a@b> <c@d> 1 +0000"),
        (Odd, "tab\tor <a@b> 1 +0000"),
        (Odd, "blank < a@b > 1 +0000"),
        (Odd, "no zone <a@b> 1700000000"),
        (Odd, "no date <a@b>"),
        (Odd, "bell \x07 <a@b> 1 +0000"),
        (Odd, "zone <a@b> 1 +00:00"),
        (Odd, "minus <a@b> -5 +0000"),
    ];
    let messages: [(Part, &[u8]); 15] = [
        (Ordinary, b"one line\n"),
        (Ordinary, b""),
        (Ordinary, b"\n"),
        (Ordinary, b"no line break at the end"),
        (Ordinary, b"subject\n\nbody\n\nTask: T-1\n"),
        (Ordinary, b"\n \n\t\n  late subject  \n over lines\t\r\n\r\n\nbody\n"),
        (Ordinary, b"author x\ntree y\n\nencoding latin1\n"),
        (Ordinary, "Grüße an 名前 \u{1F600}\u{2028}x\u{85}y\u{a0}\n".as_bytes()),
        (Ordinary, b"\x1b[31mred\x07\x01\x7f\n"),
        (Ordinary, b"form\x0cfeed \x0b\x0c\n\x0b\nsecond\n"),
        (Ordinary, b"carriage\rreturn\r\nline\r\n"),
        (Ordinary, b"trailing blanks   \n\n\n\n"),
        (Odd, b"caf\xe9 in latin1\n"),
        (Odd, b"\xff\xfe\x80\n"),
        (Odd, b"before\0after\n"),
    ];
    let headers: [(Part, &str); 5] = [
        (Ordinary, ""),
        (Odd, "encoding ISO-8859-1\n"),
        (Odd, "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n"),
        (Odd, "mergetag object 0000000000000000000000000000000000000000\n type commit\n"),
        (Odd, "HG:extra something\n"),
    ];
    for format in FORMATS {
        let bench = Bench::new(format);
        let parent = bench.commit(&[], "parent");
        let mut expected = Vec::new();
        let mut raw = Vec::new();
        for parents in 0..4 {
            for (number, (whose, person)) in people.iter().enumerate() {
                for (what, message) in &messages {
                    // Combining every header with every message would add little: use a few with each.
                    for (more, header) in headers.iter().take(if number < 2 { headers.len() } else { 1 }) {
                        let mut commit = format!("tree {}\n", bench.tree());
                        commit += &format!("parent {parent}\n").repeat(parents);
                        commit += &format!("author {person}\ncommitter {person}\n{header}\n");
                        let mut commit = commit.into_bytes();
                        commit.extend_from_slice(message);
                        let parts = [whose, what, more];
                        expected.push(if parts.contains(&&Odd) { Odd } else { Ordinary });
                        raw.push(commit);
                    }
                }
            }
        }
        let ids = bench.store(&raw);
        let git = as_git_reads(&bench, &ids);
        assert!(ids.len() > 1000 && git.len() == ids.len(), "{} of {}", git.len(), ids.len());
        for ((id, expected), raw) in ids.iter().zip(expected).zip(&raw) {
            let shown = String::from_utf8_lossy(raw);
            let Some(commit) = bench.read(id) else {
                assert_eq!(expected, Odd, "not read: {shown:?}");
                continue;
            };
            assert_eq!(expected, Ordinary, "read: {shown:?}");
            let parents: Vec<&str> = commit.parents.iter().map(CommitId::as_str).collect();
            let date = commit.date.to_string();
            let subject = commit.subject();
            let read = [&commit.tree, &parents.join(" "), &commit.author, &date, &subject, &commit.message];
            assert_eq!(
                read.map(String::as_str),
                git[id.as_str()].each_ref().map(String::as_str),
                "{shown:?}"
            );
        }
    }
}

#[test]
fn whatever_is_no_ordinary_object_of_that_name_is_not_read() {
    type Attack = fn(&Bench, &CommitId);
    let attacks: [(&str, Attack); 14] = [
        ("another commit", |b, id| b.put(id, &fs::read(b.place(&b.commit(&[], "other"))).unwrap())),
        ("one letter of it is another", |b, id| {
            let mut file = fs::read(b.place(id)).unwrap();
            let at = file.len() - 6;
            file[at] ^= 1;
            let object = unwrapped(&file[..]).unwrap_or_else(|| file[7..file.len() - 4].to_vec());
            b.put(id, &wrapped(&object));
        }),
        ("cut short", |b, id| b.put(id, &fs::read(b.place(id)).unwrap()[..90])),
        ("empty", |b, id| b.put(id, b"")),
        ("more after its end", |b, id| b.put(id, &[fs::read(b.place(id)).unwrap(), b"x".to_vec()].concat())),
        ("a checksum that is wrong", |b, id| {
            let mut file = fs::read(b.place(id)).unwrap();
            *file.last_mut().unwrap() ^= 1;
            b.put(id, &file);
        }),
        ("a length that is wrong", |b, id| {
            let mut file = fs::read(b.place(id)).unwrap();
            file[3] ^= 1;
            b.put(id, &file);
        }),
        ("a pipe that nobody writes to", |b, id| {
            fs::remove_file(b.place(id)).unwrap();
            let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
            rustix::fs::mknodat(rustix::fs::CWD, b.place(id), kind, mode, 0).unwrap();
        }),
        ("a link to the object itself", |b, id| {
            let elsewhere = b.repo.beside("elsewhere");
            fs::rename(b.place(id), &elsewhere).unwrap();
            symlink(elsewhere, b.place(id)).unwrap();
        }),
        ("a link in place of the folder", |b, id| {
            let folder = b.place(id).parent().unwrap().to_owned();
            let elsewhere = b.repo.beside("elsewhere");
            fs::rename(&folder, &elsewhere).unwrap();
            symlink(elsewhere, folder).unwrap();
        }),
        ("a link in place of all objects", |b, _| {
            let (folder, elsewhere) = (b.git_dir().join("objects"), b.repo.beside("elsewhere"));
            fs::rename(&folder, &elsewhere).unwrap();
            symlink(elsewhere, folder).unwrap();
        }),
        ("a device", |b, id| {
            fs::remove_file(b.place(id)).unwrap();
            symlink("/dev/zero", b.place(id)).unwrap();
        }),
        ("a folder", |b, id| {
            fs::remove_file(b.place(id)).unwrap();
            fs::create_dir(b.place(id)).unwrap();
        }),
        ("a file of a terabyte, with holes", |b, id| {
            let file = fs::OpenOptions::new().append(true).open(b.place(id));
            let file = file.or_else(|_| {
                // Git makes its objects read-only, which applies to everyone but root.
                let bytes = fs::read(b.place(id))?;
                b.put(id, &bytes);
                fs::OpenOptions::new().append(true).open(b.place(id))
            });
            file.unwrap().set_len(1 << 40).unwrap();
        }),
    ];
    for (what, attack) in attacks {
        let bench = Bench::new(FORMATS[0]);
        let id = bench.commit(&[], "the right one");
        assert!(bench.read(&id).is_some(), "{what}: read before");
        attack(&bench, &id);
        assert_eq!(bench.read(&id), None, "{what}");
    }
}

#[test]
fn objects_with_the_right_name_that_git_would_not_write_are_not_read() {
    for format in FORMATS {
        let bench = Bench::new(format);
        let (tree, id) = (bench.tree(), bench.commit(&[], "parent"));
        let person = "Ada <ada@example.org> 1 +0000";
        let object = |content: &str| format!("commit {}\0{content}", content.len());
        let good = format!("tree {tree}\nparent {id}\nauthor {person}\ncommitter {person}\n\nx\n");
        let read = bench.read(&bench.plant(object(&good).as_bytes())).unwrap();
        assert_eq!(read.parents, std::slice::from_ref(&id));
        let short = &id.as_str()[1..];
        let other = if format.0 == ObjectFormat::Sha1 { "a".repeat(64) } else { "a".repeat(40) };
        let bad = [
            good.replace("tree ", "tree\t"),
            good.replace(&format!("tree {tree}\n"), ""),
            good.replace(tree, &tree.to_uppercase()),
            good.replace(tree, &other),
            good.replace(id.as_str(), short),
            good.replace(id.as_str(), &other),
            good.replace(id.as_str(), &"0".repeat(id.as_str().len())),
            good.replace(&format!("parent {id}\n"), &format!("tree {tree}\n")),
            good.replace(&format!("author {person}\n"), ""),
            good.replace(&format!("committer {person}\n"), ""),
            good.replace("committer", "author"),
            good.replace(&format!("author {person}"), &format!("author {person}\nparent {id}")),
            good.replace("\n\nx\n", "\n"),
            good.replace("\n\nx\n", ""),
            good.replace('\n', "\r\n"),
            String::new(),
        ];
        for content in &bad {
            assert_eq!(bench.read(&bench.plant(object(content).as_bytes())), None, "{content:?}");
        }
        let length = good.len();
        let headers = [
            format!("commit {}\0", length + 1),
            format!("commit {}\0", length - 1),
            format!("commit 0{length}\0"),
            format!("commit +{length}\0"),
            format!("commit  {length}\0"),
            format!("commit {length} \0"),
            format!("commit {length}"),
            format!("tag {length}\0"),
            format!("tree {length}\0"),
            format!("blob {length}\0"),
            String::new(),
        ];
        for header in headers {
            assert_eq!(bench.read(&bench.plant(format!("{header}{good}").as_bytes())), None, "{header:?}");
        }
    }
}

#[test]
fn compressed_large_packed_and_missing_commits_are_left_to_git() {
    let bench = Bench::new(FORMATS[0]);
    let missing = "a".repeat(40).parse().unwrap();
    assert_eq!(bench.read(&missing), None);

    let long = "x".repeat(usize::try_from(LARGEST).unwrap());
    let large = format!("tree {}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\n{long}", bench.tree());
    let [large] = &bench.store(&[large.into_bytes()])[..] else { panic!("one commit") };
    assert_eq!(bench.read(large), None);
    assert!(bench.place(large).metadata().unwrap().len() > LARGEST);

    // A decompression bomb: a small file whose content is unknown before it is inflated.
    bench.repo.git(&["config", "core.looseCompression", "9"]);
    let bomb = format!("tree {}\nauthor A <a@b> 1 +0000\n\n{}", bench.tree(), "\n".repeat(20 << 20));
    let [bomb] = &bench.store(&[bomb.into_bytes()])[..] else { panic!("one commit") };
    assert!(bench.place(bomb).metadata().unwrap().len() < LARGEST);
    assert_eq!(bench.read(bomb), None);
    let compressed = bench.commit(&[], "compressed");
    assert_eq!(bench.read(&compressed), None);

    bench.repo.git(&["config", "core.looseCompression", "0"]);
    let packed = bench.commit(&[], "packed");
    bench.repo.git(&["update-ref", "refs/heads/main", packed.as_str()]);
    assert!(bench.read(&packed).is_some());
    bench.repo.git(&["repack", "-adq"]);
    assert_eq!(bench.read(&packed), None);
}

#[test]
fn a_line_of_commits_is_the_range_that_git_lists() {
    let bench = Bench::new(FORMATS[0]);
    let root = bench.commit(&[], "root");
    let mut ids = vec![root.clone()];
    for number in 0..LONGEST {
        let person = "Ada <ada@example.org> 1 +0000";
        let (tree, parent) = (bench.tree(), ids.last().unwrap());
        let content =
            format!("tree {tree}\nparent {parent}\nauthor {person}\ncommitter {person}\n\ncommit {number}\n");
        ids.push(bench.plant(format!("commit {}\0{content}", content.len()).as_bytes()));
    }
    let line = |from: &CommitId, to: &CommitId| {
        let line = Commit::line(&[bench.git_dir()], from, to)?;
        Some(line.into_iter().map(|(id, _)| id.to_string()).collect::<Vec<_>>())
    };
    let (first, tip) = (&ids[1], &ids[LONGEST]);
    for (from, to) in [(tip, tip), (first, tip), (&ids[5], &ids[6]), (&root, tip)] {
        let listed = bench.repo.git(&["rev-list", &format!("{from}..{to}")]);
        assert_eq!(line(from, to).unwrap(), listed.lines().collect::<Vec<_>>());
    }
    let next = bench.commit(&[tip], "one too many");
    assert_eq!(line(&root, &next), None, "longer than is followed");
    assert_eq!(line(tip, first), None, "the other direction");
    let stranger = bench.commit(&[], "another root");
    assert_eq!(line(&stranger, first), None, "unrelated");
    let merge = bench.commit(&[first, &stranger], "a merge");
    assert_eq!(line(first, &merge), None, "a merge");
    assert_eq!(line(&merge, &bench.commit(&[&merge], "after it")).unwrap().len(), 1);
    fs::remove_file(bench.place(&ids[3])).unwrap();
    assert_eq!(line(first, tip), None, "one is missing");
}

#[test]
fn a_file_is_named_as_git_names_it() {
    for format in FORMATS {
        let bench = Bench::new(format);
        for text in ["", "x\n", "blob 3\0abc", "Grüße\r\n"] {
            let file = bench.repo.beside("text");
            fs::write(&file, text).unwrap();
            let git = bench.repo.git(&["hash-object", "--no-filters", file.to_str().unwrap()]);
            assert_eq!(file_name(format.0, text.as_bytes()), git, "{text:?}");
        }
    }
}
