//! Where commands compute. These tests need no card.

mod support;

use support::{bad, folder, good, lowland};

#[test]
fn the_processor_is_always_listed() {
    let folder = folder();
    let output = lowland(folder.path(), &["devices"]);
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("cpu "));
    let output = lowland(folder.path(), &["devices", "--json"]);
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(list["cards"].is_array());
    // Either there are cards, or there is a reason.
    assert!(list["reason"].is_string() || !list["cards"].as_array().unwrap().is_empty());
}

#[test]
fn every_command_that_computes_refuses_a_card_that_does_not_exist() {
    let folder = folder();
    let at = folder.path();
    good(
        at,
        &["embed", "digits", "--max-rows", "60", "--method", "pca", "--quiet", "--save", "m.lowland", "--out", "m.csv"],
    );
    let rows = ["digits", "--max-rows", "60"];
    for command in [
        &["embed"][..],
        &["neighbors", "--out", "g.npz"],
        &["compare", "--methods", "pca,svd", "--out", "c.png"],
        &["transform", "m.lowland"],
    ] {
        let message = bad(at, 1, &[command, &rows, &["--device", "cuda:77"]].concat());
        assert!(message.contains("cuda:77: ") && message.contains("--device cpu"), "{message}");
    }
    for command in ["quality", "trust"] {
        let message = bad(at, 1, &[command, "digits", "m.csv", "--max-rows", "60", "--device", "cuda:77"]);
        assert!(message.contains("cuda:77: "), "{message}");
    }
}

#[test]
fn a_device_that_is_none_is_an_invalid_value() {
    let folder = folder();
    let message = bad(folder.path(), 2, &["embed", "digits", "--device", "gpu"]);
    assert!(message.contains("auto, cpu, cuda or cuda:N"), "{message}");
}

#[test]
fn maps_on_the_processor_do_not_depend_on_the_flag() {
    let folder = folder();
    let at = folder.path();
    for device in ["auto", "cpu"] {
        let out = format!("{device}.csv");
        good(
            at,
            &["embed", "digits", "--max-rows", "200", "--quiet", "--no-quality", "--device", device, "--out", &out],
        );
    }
    assert_eq!(std::fs::read(at.join("auto.csv")).unwrap(), std::fs::read(at.join("cpu.csv")).unwrap());
}
