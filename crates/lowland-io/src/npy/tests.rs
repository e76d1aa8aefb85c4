use super::*;
use lowland::MemoryBudget;
use proptest::prelude::*;

fn npy(text: &str, values: &[u8]) -> Vec<u8> {
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend_from_slice(&(text.len() as u16).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(values);
    out
}

fn values(bytes: Vec<u8>) -> Vec<f32> {
    match read(FileBytes::Owned(bytes), None, None, &Budget::unlimited()).unwrap() {
        Data::Dense(x) => x.values().to_vec(),
        _ => panic!("dense"),
    }
}

#[test]
fn big_endian_fortran_and_half_floats_are_read() {
    let text = "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }\n";
    let raw: Vec<u8> = [1i16, 2, 3, 4, -5, 6].iter().flat_map(|v| v.to_be_bytes()).collect();
    assert_eq!(values(npy(text, &raw)), [1.0, 3.0, -5.0, 2.0, 4.0, 6.0]);
    let text = "{'descr': '<f2', 'fortran_order': False, 'shape': (1, 5), }\n";
    let raw: Vec<u8> = [0x3c00u16, 0xc000, 0x0001, 0x7bff, 0x3555].iter().flat_map(|v| v.to_le_bytes()).collect();
    assert_eq!(values(npy(text, &raw)), [1.0, -2.0, 5.960_464_5e-8, 65504.0, 0.333_251_95]);
}

#[test]
fn booleans_are_zeros_and_ones() {
    let text = "{'descr': '|b1', 'fortran_order': False, 'shape': (2, 2), }\n";
    assert_eq!(values(npy(text, &[1, 0, 0, 1])), [1.0, 0.0, 0.0, 1.0]);
}

#[test]
fn every_half_float_has_its_value() {
    assert_eq!((half_to_f64(0x7c00), half_to_f64(0xfc00)), (f64::INFINITY, f64::NEG_INFINITY));
    assert!((0x7c01..=0x7fff).all(|bits| half_to_f64(bits).is_nan()));
    // The others are evenly spaced between powers of two: adding up the steps gives every one exactly.
    let mut expected = 0.0;
    for bits in 0..0x7c00u16 {
        assert_eq!((half_to_f64(bits), half_to_f64(bits | 0x8000)), (expected, -expected), "{bits:#x}");
        expected += 2f64.powi((i32::from(bits >> 10)).max(1) - 25);
    }
    assert_eq!(expected, 65536.0);
}

#[test]
fn little_endian_f4_in_c_order_is_used_where_it_lies() {
    let bytes = encode("<f4", &[2, 2], bytemuck::cast_slice(&[1.0f32, 2.0, 3.0, 4.0]));
    let start = bytes.as_ptr() as usize;
    let range = start..start + bytes.len();
    let Data::Dense(x) = read(FileBytes::Owned(bytes), None, None, &Budget::unlimited()).unwrap() else {
        panic!("dense")
    };
    assert_eq!(x.values(), [1.0, 2.0, 3.0, 4.0]);
    assert!(range.contains(&(x.values().as_ptr() as usize)), "the values were copied");
}

#[test]
fn values_do_not_change_when_the_file_is_truncated_after_it_was_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    let values: Vec<f32> = (0..1 << 16).map(|v| v as f32).collect();
    std::fs::write(&path, encode("<f4", &[1 << 12, 16], bytemuck::cast_slice(&values))).unwrap();
    let (bytes, budget) = FileBytes::open(&path, &MemoryBudget::new(None)).unwrap();
    let Data::Dense(x) = read(bytes, None, None, &budget).unwrap() else { panic!("dense") };
    // Access to a mapping would end the process with SIGBUS.
    std::fs::File::options().write(true).open(&path).unwrap().set_len(128).unwrap();
    assert_eq!(x.values(), values);
}

#[test]
fn a_file_that_is_truncated_while_it_is_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    std::fs::write(&path, encode("<f4", &[1 << 12, 16], &[0; 1 << 18])).unwrap();
    let (mut bytes, _) = FileBytes::open(&path, &MemoryBudget::new(None)).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(128 + 1000).unwrap();
    let error = bytes.read_floats(128..128 + (1 << 18)).unwrap_err();
    assert!(matches!(error, FileErrorKind::Truncated { declared: 262_144, available: 1000, .. }), "{error}");
}

#[test]
fn a_header_that_claims_more_than_there_is_gives_an_error_and_no_allocation() {
    for shape in ["1000000000000000, 3", "18446744073709551615, 18446744073709551615", "5, 1"] {
        let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape}), }}\n");
        let error = NpyArray::parse(&npy(&text, &[0; 8]), &Budget::unlimited()).err().unwrap();
        assert!(matches!(error, FileErrorKind::Truncated { available: 8, .. }), "{error}");
    }
}

#[test]
fn what_cannot_be_a_matrix_is_explained() {
    let message = |descr: &str, shape: &str| {
        let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n");
        read(FileBytes::Owned(npy(&text, &[0; 64])), None, None, &Budget::unlimited()).unwrap_err().to_string()
    };
    assert!(message("'<f4'", "(4,)").contains("reshape it to (4, 1)"));
    assert!(message("'<f4'", "()").contains("single number"));
    assert!(message("'|O'", "(4, 1)").contains("Python objects"));
    assert!(message("'<c8'", "(4, 1)").contains("complex"));
    assert!(message("[('a', '<f4')]", "(4, 1)").contains("records"));
    assert!(message("'<U2'", "(4, 1)").contains("strings"));
}

#[test]
fn doubles_beyond_f32_are_refused_by_cell_and_infinities_left_for_the_check() {
    let raw: Vec<u8> = [0.0, f64::INFINITY, 1.0, -1e300].iter().flat_map(|v: &f64| v.to_le_bytes()).collect();
    let error = read(FileBytes::Owned(encode("<f8", &[2, 2], &raw)), None, None, &Budget::unlimited()).unwrap_err();
    assert!(error.to_string().contains("row 1 (from 0), column 1: -1e300"), "{error}");
    assert_eq!(values(encode("<f8", &[1, 2], &raw[..16])), [0.0, f32::INFINITY]);
}

#[test]
fn strings_come_back() {
    let texts = ["a", "", "größer", "日本"];
    assert_eq!(NpyArray::parse(&encode_texts(&texts), &Budget::unlimited()).unwrap().to_texts().unwrap(), texts);
}

proptest! {
    #[test]
    fn fortran_order_of_any_shape_is_undone(shape in prop::collection::vec(1usize..5, 2..5)) {
        // Each value is its own position in C order; written in Fortran order it must come back sorted.
        let count: usize = shape.iter().product();
        let strides: Vec<usize> = (0..shape.len()).map(|d| shape[d + 1..].iter().product()).collect();
        let mut raw = Vec::new();
        for mut at in 0..count {
            let mut position = 0;
            for (size, stride) in shape.iter().zip(&strides) {
                position += (at % size) * stride;
                at /= size;
            }
            raw.extend_from_slice(&(position as f32).to_le_bytes());
        }
        let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
        let text = format!("{{'descr': '<f4', 'fortran_order': True, 'shape': ({}), }}\n", sizes.join(", "));
        prop_assert_eq!(values(npy(&text, &raw)), (0..count).map(|v| v as f32).collect::<Vec<_>>());
    }

    #[test]
    fn mutilated_files_give_an_array_or_an_error(cut in 0usize..200, at in 0usize..128, byte: u8) {
        let mut bytes = encode("<f8", &[3, 2], &[7; 48]);
        bytes[at] = byte;
        bytes.truncate(cut);
        let _ = read(FileBytes::Owned(bytes), None, None, &Budget::unlimited());
    }
}
