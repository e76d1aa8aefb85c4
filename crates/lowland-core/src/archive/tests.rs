use proptest::prelude::*;

use super::*;
use twox_hash::XxHash3_64;

fn sample() -> Archive {
    let mut archive = Archive::new(ArchiveKind::Model);
    archive.put("x", vec![1.0, f64::NAN, -0.0]);
    archive.put("small", vec![1.5f32]);
    archive.put("n", 7u64);
    archive.put("index", vec![3u32, 4]);
    archive.put("words", vec!["é".to_string(), String::new()]);
    archive
}

#[test]
fn archives_round_trip() {
    let bytes = sample().to_bytes();
    let back = Archive::from_bytes(&bytes, ArchiveKind::Model).unwrap();
    assert_eq!(back.to_bytes(), bytes);
    assert_eq!(back.number("n").unwrap(), 7);
    assert!(back.f64s("n").is_err());
    assert!(back.f64s("absent").unwrap_err().to_string().contains("'absent' is missing"));
}

#[test]
fn a_checkpoint_is_not_a_model() {
    assert!(Archive::from_bytes(&sample().to_bytes(), ArchiveKind::Checkpoint).is_err());
}

#[test]
fn every_truncation_is_rejected() {
    let bytes = sample().to_bytes();
    for length in 0..bytes.len() {
        assert!(Archive::from_bytes(&bytes[..length], ArchiveKind::Model).is_err(), "{length} bytes");
    }
}

proptest! {
    #[test]
    fn a_changed_byte_is_detected(at in 0usize..1000, change in 1u8..) {
        let mut bytes = sample().to_bytes();
        let at = at % bytes.len();
        bytes[at] ^= change;
        prop_assert!(Archive::from_bytes(&bytes, ArchiveKind::Model).is_err());
    }

    #[test]
    fn malformed_content_with_a_valid_checksum_does_not_panic(at in 0usize..1000, put in prop::collection::vec(any::<u8>(), 1..12)) {
        // A valid file with a few bytes after the version replaced and the checksum updated.
        let good = sample().to_bytes();
        let mut bytes = good[..good.len() - 8].to_vec();
        let start = 12 + at % (bytes.len() - 12);
        bytes[start..].iter_mut().zip(&put).for_each(|(byte, &new)| *byte = new);
        bytes.extend_from_slice(&XxHash3_64::oneshot(&bytes).to_le_bytes());
        if let Ok(archive) = Archive::from_bytes(&bytes, ArchiveKind::Model) {
            prop_assert_eq!(archive.to_bytes().len(), bytes.len());
        }
    }
}

#[test]
fn getters_return_what_was_put_and_reject_other_types_and_counts() {
    let mut archive = sample();
    archive.put("title", "map");
    archive.put("sizes", vec![5u64, 6]);
    archive.put("finite", vec![-2.5, 0.5]);
    assert_eq!(archive.f32s("small").unwrap(), [1.5]);
    assert_eq!(archive.u32s("index").unwrap(), [3, 4]);
    assert_eq!(archive.texts("words").unwrap(), ["é", ""]);
    assert_eq!(archive.text("title").unwrap(), "map");
    assert_eq!((archive.number("n").unwrap(), archive.size("n").unwrap()), (7, 7));
    assert_eq!(archive.sizes("sizes").unwrap(), [5, 6]);
    assert_eq!(archive.u64s("sizes").unwrap(), [5, 6]);
    assert_eq!(archive.finite("finite").unwrap(), [-2.5, 0.5]);
    assert_eq!(archive.get("title"), Some(&Array::Text(vec!["map".into()])));
    let message = |error: Error| error.to_string();
    assert!(message(archive.finite("x").unwrap_err()).contains("'x' contains NaN"));
    assert!(message(archive.number("sizes").unwrap_err()).contains("'sizes' has 2 numbers instead of one"));
    assert!(message(archive.text("words").unwrap_err()).contains("'words' has 2 strings instead of one"));
    assert!(message(archive.u32s("n").unwrap_err()).contains("'n' has another type"));
}

#[test]
fn entries_are_listed_by_name_and_can_be_removed() {
    let mut archive = sample();
    assert_eq!(archive.names().collect::<Vec<_>>(), ["index", "n", "small", "words", "x"]);
    archive.remove("n");
    assert!(!archive.has("n") && archive.has("x") && archive.get("n").is_none());
    assert_eq!(archive.names().count(), 4);
}

#[test]
fn errors_name_the_kind_of_file_and_the_reason() {
    let bytes = sample().to_bytes();
    let error = |bytes: &[u8], kind| Archive::from_bytes(bytes, kind).unwrap_err().to_string();
    let other = error(&bytes, ArchiveKind::Checkpoint);
    assert!(other.contains("checkpoint") && other.contains("it is a model"), "{other}");
    assert!(error(b"PK\x03\x04", ArchiveKind::Model).contains("does not start with the signature"));
    assert!(error(&bytes[..30], ArchiveKind::Model).contains("its checksum does not match"));
    assert!(error(&bytes[..8], ArchiveKind::Model).contains("truncated"));
}

/// A file of another version, with a valid checksum.
fn with_version(version: u32) -> Vec<u8> {
    let mut bytes = sample().to_bytes();
    bytes.truncate(bytes.len() - 8);
    bytes[8..12].copy_from_slice(&version.to_le_bytes());
    bytes.extend_from_slice(&XxHash3_64::oneshot(&bytes).to_le_bytes());
    bytes
}

#[test]
fn old_versions_are_read_and_keep_their_number_and_others_are_rejected() {
    for version in 1..=VERSION {
        let archive = Archive::from_bytes(&with_version(version), ArchiveKind::Model).unwrap();
        assert_eq!(archive.version(), version);
        assert_eq!(archive.to_bytes(), with_version(version));
    }
    for version in [0, VERSION + 1, u32::MAX] {
        let error = Archive::from_bytes(&with_version(version), ArchiveKind::Model).unwrap_err().to_string();
        assert!(error.contains(&format!("it has version {version}")), "{error}");
    }
}
