//! tmp
#![allow(clippy::print_stdout)]
use lowland::nbody::*;
use lowland::{Points, Seed};
use std::time::Instant;

pub fn clustered(n: usize, width: f64) -> Vec<f64> {
    let z = Seed(1).normals(2 * n);
    let u = Seed(2).normals(200);
    let mut out = Vec::new();
    for i in 0..n {
        let c = i % 100;
        let s = 0.25 + 0.01 * c as f64;
        for k in 0..2 { out.push(z[2 * i + k] * s + u[2 * c + k] * 2.0); }
    }
    let m = out.iter().fold(0f64, |a, b| a.max(b.abs()));
    out.iter().map(|x| x / m * width / 2.0).collect()
}
fn cpu() -> f64 {
    let u = unsafe { let mut u: libc::rusage = std::mem::zeroed(); libc::getrusage(libc::RUSAGE_SELF, &raw mut u); u };
    (u.ru_utime.tv_sec + u.ru_stime.tv_sec) as f64 + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) as f64 * 1e-6
}
fn main() {
    let a: Vec<f64> = std::env::args().skip(1).map(|x| x.parse().unwrap()).collect();
    let (n, width) = (a[0] as usize, a[1]);
    let map = clustered(n, width);
    let pts = Points::new(&map, 2).unwrap();
    let q: Vec<f64> = map.chunks(2).flat_map(|p| [1.0, p[0], p[1]]).collect();
    let one = vec![1.0; n];
    let terms = [Term { kernel: Kernel::Cauchy { power: 1.0 }, charges: 1 }, Term { kernel: Kernel::Cauchy { power: 2.0 }, charges: 3 }];
    let some: Vec<usize> = (0..500).map(|k| k * n / 500).collect();
    let tv: Vec<f64> = some.iter().flat_map(|&i| [map[2 * i], map[2 * i + 1]]).collect();
    let mut exact = vec![0.0; 4 * 500];
    Exact.sum(&terms, Points::new(&tv, 2).unwrap(), pts, Charges { values: &q, per_point: 3 }, &mut exact).unwrap();
    let force = |x: &[f64], o: &[f64]| [x[0] * o[1] - o[2], x[1] * o[1] - o[3]];
    for order in [4usize, 6, 8] {
        for h in [0.25, 0.35, 0.5, 0.7, 1.0, 1.4] {
            let mut e = Fft::default();
            e.force(order, h);
            let mut out = vec![0.0; 4 * n];
            let (mut v, mut g) = (vec![0.0; n], vec![0.0; 2 * n]);
            let t = Instant::now();
            e.sum(&terms, pts, pts, Charges { values: &q, per_point: 3 }, &mut out).unwrap();
            let cold = t.elapsed().as_secs_f64();
            let (t, c) = (Instant::now(), cpu());
            for _ in 0..10 { e.sum(&terms, pts, pts, Charges { values: &q, per_point: 3 }, &mut out).unwrap(); }
            let (w1, c1) = (t.elapsed().as_secs_f64() / 10., (cpu() - c) / 10.);
            e.potential(Kernel::Cauchy { power: 1.0 }, pts, pts, &one, &mut v, &mut g).unwrap();
            let (t, c) = (Instant::now(), cpu());
            for _ in 0..10 { e.potential(Kernel::Cauchy { power: 1.0 }, pts, pts, &one, &mut v, &mut g).unwrap(); }
            let (w2, c2) = (t.elapsed().as_secs_f64() / 10., (cpu() - c) / 10.);
            let (mut s, mut e1, mut e2, mut z0, mut ez) = (0., 0., 0., 0., 0.);
            for (k, &i) in some.iter().enumerate() {
                let x = &map[2 * i..2 * i + 2];
                let f = force(x, &exact[4 * k..]);
                let f1 = force(x, &out[4 * i..]);
                let f2 = [-0.5 * g[2 * i], -0.5 * g[2 * i + 1]];
                for c in 0..2 { s += f[c] * f[c]; e1 += (f1[c] - f[c]).powi(2); e2 += (f2[c] - f[c]).powi(2); }
                z0 += exact[4 * k]; ez += (v[i] - exact[4 * k]).abs();
            }
            println!("W {order} h {h:.2}: sum err {:.1e} wall {:.1} cpu {:.1} ms (cold {:.0}) | potential err {:.1e} wall {:.1} cpu {:.1} Z {:.1e}",
                (e1 / s).sqrt(), w1 * 1e3, c1 * 1e3, cold * 1e3, (e2 / s).sqrt(), w2 * 1e3, c2 * 1e3, ez / z0);
        }
    }
}
