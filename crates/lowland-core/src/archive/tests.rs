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
