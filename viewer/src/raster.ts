/** Draws points pixel by pixel, for machines without WebGL2. */

import { perspectiveScale } from "./camera";
import { createPointsCanvas, type Renderer, type RenderParameters } from "./renderer";

/** Coverage of the pixels around the center of a disc, from 0 to 256. */
interface DiscCoverage {
  /** Distance from the center to the edge of the table, in pixels. */
  reach: number;
  coverage: Uint16Array;
}

export class Raster implements Renderer {
  readonly name = "canvas";
  readonly canvas = createPointsCanvas();
  private readonly context: CanvasRenderingContext2D;
  private readonly discs = new Map<number, DiscCoverage>();
  private from = new Float32Array(0);
  private to = new Float32Array(0);
  private colors = new Uint8Array(0);
  private order = new Uint32Array(0);
  private image: ImageData | null = null;
  private depth = new Float32Array(0);

  constructor() {
    this.context = this.canvas.getContext("2d", { alpha: false })!;
  }

  setPositions(from: Float32Array, to: Float32Array): void {
    this.from = from as Float32Array<ArrayBuffer>;
    this.to = to as Float32Array<ArrayBuffer>;
  }

  setColors(colors: Uint8Array): void {
    this.colors = colors as Uint8Array<ArrayBuffer>;
  }

  setOrder(order: Uint32Array): void {
    this.order = order as Uint32Array<ArrayBuffer>;
  }

  draw({ camera, t, size, count, background, ratio }: RenderParameters): void {
    const { width, height } = this.canvas;
    if (this.image?.width !== width || this.image.height !== height) this.image = new ImageData(width, height);
    const pixels = this.image.data;
    new Uint32Array(pixels.buffer).fill((255 << 24) | (background[2] << 16) | (background[1] << 8) | background[0]);
    const { is3d } = camera;
    if (is3d && this.depth.length !== width * height) this.depth = new Float32Array(width * height);
    if (is3d) this.depth.fill(-Infinity);
    const [a, b, c] = camera.rotation;
    const [cx, cy, cz] = camera.center;
    const scale = camera.scale * ratio;
    const { from, to, colors, order } = this;
    for (let k = 0; k < count; k++) {
      const i = order[k];
      const x = from[3 * i] + t * (to[3 * i] - from[3 * i]) - cx;
      const y = from[3 * i + 1] + t * (to[3 * i + 1] - from[3 * i + 1]) - cy;
      const z = from[3 * i + 2] + t * (to[3 * i + 2] - from[3 * i + 2]) - cz;
      const ahead = c[0] * x + c[1] * y + c[2] * z;
      const near = is3d ? perspectiveScale(ahead) : 1;
      const px = Math.floor(width / 2 + scale * near * (a[0] * x + a[1] * y + a[2] * z));
      const py = Math.floor(height / 2 - scale * near * (b[0] * x + b[1] * y + b[2] * z));
      const { reach, coverage } = this.disc(size * near);
      if (px < -reach || py < -reach || px >= width + reach || py >= height + reach) continue;
      const fog = is3d ? Math.min(0.7, Math.max(0, 0.35 - 0.35 * ahead)) : 0;
      const r = colors[4 * i] * (1 - fog) + background[0] * fog;
      const g = colors[4 * i + 1] * (1 - fog) + background[1] * fog;
      const blue = colors[4 * i + 2] * (1 - fog) + background[2] * fog;
      const opacity = colors[4 * i + 3] / 255;
      const side = 2 * reach + 1;
      for (let dy = -reach; dy <= reach; dy++) {
        const row = py + dy;
        if (row < 0 || row >= height) continue;
        for (let dx = -reach; dx <= reach; dx++) {
          const covered = coverage[(dy + reach) * side + dx + reach];
          const column = px + dx;
          if (covered === 0 || column < 0 || column >= width) continue;
          const at = row * width + column;
          let alpha = (covered / 256) * opacity;
          if (is3d) {
            if (covered < 128 || this.depth[at] > ahead) continue;
            this.depth[at] = ahead;
            alpha = opacity;
          }
          pixels[4 * at] += (r - pixels[4 * at]) * alpha;
          pixels[4 * at + 1] += (g - pixels[4 * at + 1]) * alpha;
          pixels[4 * at + 2] += (blue - pixels[4 * at + 2]) * alpha;
        }
      }
    }
    this.context.putImageData(this.image, 0, 0);
  }

  private disc(size: number): DiscCoverage {
    const rounded = Math.max(1, Math.round(2 * size) / 2);
    let disc = this.discs.get(rounded);
    if (!disc) {
      const radius = rounded / 2;
      const reach = Math.max(0, Math.ceil(radius - 0.5));
      const side = 2 * reach + 1;
      const coverage = new Uint16Array(side * side);
      for (let y = -reach; y <= reach; y++) {
        for (let x = -reach; x <= reach; x++) {
          const covered = Math.min(1, Math.max(0, radius + 0.5 - Math.hypot(x, y)));
          coverage[(y + reach) * side + x + reach] = Math.round(256 * covered);
        }
      }
      disc = { reach, coverage };
      this.discs.set(rounded, disc);
    }
    return disc;
  }

  dispose(): void {}
}
