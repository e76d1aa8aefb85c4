/** Grayscale images of the points, decompressed on demand. */

import type { ImagesHeader } from "./header";
import { bytes } from "./sections";

export class Thumbnails {
  private readonly sections = new Map<number, Promise<Uint8Array>>();

  constructor(private readonly header: ImagesHeader) {}

  /** Draws the image of a point on a canvas. */
  async draw(point: number, canvas: HTMLCanvasElement): Promise<void> {
    const { width, height, rows, sections } = this.header;
    const section = Math.floor(point / rows);
    let found = this.sections.get(section);
    if (!found) {
      found = bytes(sections[section]);
      this.sections.set(section, found);
      // Keeps only the sections used last.
      if (this.sections.size > 64) this.sections.delete(this.sections.keys().next().value!);
    }
    const pixelPairs = await found;
    const stride = Math.ceil((width * height) / 2);
    const start = (point % rows) * stride;
    const pixels = new ImageData(width, height);
    for (let at = 0; at < width * height; at++) {
      const shade = ((pixelPairs[start + (at >> 1)] >> (at & 1 ? 4 : 0)) & 15) * 17;
      pixels.data.set([shade, shade, shade, 255], 4 * at);
    }
    canvas.width = width;
    canvas.height = height;
    canvas.getContext("2d")!.putImageData(pixels, 0, 0);
  }
}
