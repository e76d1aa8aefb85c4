/** Decodes the sections of the page: base64, deflate, and bytes grouped by significance. */

function sectionText(name: string): string {
  const element = document.getElementById(name);
  if (!element) throw new Error(`the page has no section "${name}"; the file is incomplete`);
  return element.textContent ?? "";
}

export function fromBase64(encoded: string): Uint8Array<ArrayBuffer> {
  const binary = atob(encoded);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Returns the decompressed bytes of a section. */
export async function bytes(name: string): Promise<Uint8Array<ArrayBuffer>> {
  const compressed = new Blob([fromBase64(sectionText(name))]).stream();
  const decompressed = compressed.pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(decompressed).arrayBuffer());
}

/** Converts bytes grouped by significance to numbers of `width` bytes. */
export function joinBytePlanes(planes: Uint8Array, width: number): ArrayBuffer {
  const count = Math.floor(planes.length / width);
  const out = new Uint8Array(count * width);
  for (let byte = 0; byte < width; byte++) {
    const plane = planes.subarray(byte * count, (byte + 1) * count);
    for (let i = 0; i < count; i++) out[i * width + byte] = plane[i];
  }
  return out.buffer;
}

export const u16 = async (name: string) => new Uint16Array(joinBytePlanes(await bytes(name), 2));
export const u32 = async (name: string) => new Uint32Array(joinBytePlanes(await bytes(name), 4));
export const f32 = async (name: string) => new Float32Array(joinBytePlanes(await bytes(name), 4));

export async function texts(name: string): Promise<string[]> {
  return JSON.parse(new TextDecoder().decode(await bytes(name))) as string[];
}

export function header(): unknown {
  return JSON.parse(sectionText("header"));
}
