"""Compiles the CUDA kernels to PTX, which the driver of any card from Turing on translates for itself.

    cargo xtask kernels

installs NVIDIA's run-time compiler (the package nvidia-cuda-nvrtc-cu12, version 12.0: its PTX is accepted by drivers from 525
on) into target/ and runs this script. No graphics card is needed. The first line of each .ptx names the hash of its source,
which a test compares.
"""

import ctypes
import pathlib
import sys

FOLDER = pathlib.Path(__file__).parent
# Dimensions of maps that there is code for; others are padded to the next.
DIMENSIONS = [2, 3, 4, 6, 10, 16, 32, 64]
ARCHITECTURE = "compute_75"


def units():
    """Name, source and macros of each unit of compilation."""
    common = (FOLDER / "common.cuh").read_text()
    for dim in DIMENSIONS:
        yield f"map_{dim}", f"#define DIM {dim}\n" + common + (FOLDER / "map.cu").read_text()
    for name in sorted(path.stem for path in FOLDER.glob("*.cu") if path.stem != "map"):
        yield name, common + (FOLDER / f"{name}.cu").read_text()


def library():
    import nvidia.cuda_nvrtc

    folder = pathlib.Path(next(iter(nvidia.cuda_nvrtc.__path__))) / "lib"
    ctypes.CDLL(str(next(folder.glob("libnvrtc-builtins.so*"))))
    return ctypes.CDLL(str(next(folder.glob("libnvrtc.so*"))))


def compile_unit(nvrtc, name, source):
    program = ctypes.c_void_p()
    check = lambda code: code and sys.exit(f"{name}: NVRTC returned {code}")
    check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), f"{name}.cu".encode(), 0, None, None))
    options = [f"--gpu-architecture={ARCHITECTURE}", "--std=c++17", "--fmad=true", "-default-device"]
    array = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    code = nvrtc.nvrtcCompileProgram(program, len(options), array)
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    if log.value.strip():
        print(f"{name}:\n{log.value.decode()}", file=sys.stderr)
    check(code)
    check(nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size)))
    ptx = ctypes.create_string_buffer(size.value)
    check(nvrtc.nvrtcGetPTX(program, ptx))
    return ptx.value.decode()


def fnv1a(data):
    """The 64-bit FNV-1a hash, as in src/ptx.rs."""
    found = 0xCBF29CE484222325
    for byte in data:
        found = (found ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return found


def main():
    nvrtc = library()
    out = FOLDER / "ptx"
    out.mkdir(exist_ok=True)
    wanted = set()
    for name, source in units():
        path = out / f"{name}.ptx"
        wanted.add(path)
        header = f"// source {fnv1a(source.encode()):016x}\n"
        if path.exists() and path.read_text().startswith(header):
            continue
        lines = compile_unit(nvrtc, name, source).splitlines()
        # Without comments, which contain the compiler's build number.
        body = "\n".join(line for line in lines if line and not line.startswith("//"))
        path.write_text(header + body + "\n")
        print(f"{path.name}: {path.stat().st_size // 1024} KiB")
    for path in set(out.glob("*.ptx")) - wanted:
        path.unlink()


if __name__ == "__main__":
    main()
