/** Points pixel by pixel, for machines without WebGL2. */

import { nearness } from "./camera";
import { pointsCanvas, type Renderer, type Scene } from "./renderer";

/** A disc: how much of each pixel around its middle it covers, 0 to 256. */
interface Disc {
  reach: number;
  cover: Uint16Array;
}

export class Raster implements Renderer {
  readonly name = "canvas";
  readonly canvas = pointsCanvas();
  private readonly context: CanvasRenderingContext2D;
  private readonly discs = new Map<number, Disc>();
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

  draw({ camera, t, size, count, ground, ratio }: Scene): void {
    const { width, height } = this.canvas;
    if (this.image?.width !== width || this.image.height !== height) this.image = new ImageData(width, height);
    const pixels = this.image.data;
    new Uint32Array(pixels.buffer).fill((255 << 24) | (ground[2] << 16) | (ground[1] << 8) | ground[0]);
    const { deep } = camera;
    if (deep && this.depth.length !== width * height) this.depth = new Float32Array(width * height);
    if (deep) this.depth.fill(-Infinity);
    const [a, b, c] = camera.turn;
    const [cx, cy, cz] = camera.center;
    const scale = camera.scale * ratio;
    const { from, to, colors, order } = this;
    for (let k = 0; k < count; k++) {
      const i = order[k];
      const x = from[3 * i] + t * (to[3 * i] - from[3 * i]) - cx;
      const y = from[3 * i + 1] + t * (to[3 * i + 1] - from[3 * i + 1]) - cy;
      const z = from[3 * i + 2] + t * (to[3 * i + 2] - from[3 * i + 2]) - cz;
      const ahead = c[0] * x + c[1] * y + c[2] * z;
      const near = deep ? nearness(ahead) : 1;
      const px = Math.floor(width / 2 + scale * near * (a[0] * x + a[1] * y + a[2] * z));
      const py = Math.floor(height / 2 - scale * near * (b[0] * x + b[1] * y + b[2] * z));
      const { reach, cover } = this.disc(size * near);
      if (px < -reach || py < -reach || px >= width + reach || py >= height + reach) continue;
      const fog = deep ? Math.min(0.7, Math.max(0, 0.35 - 0.35 * ahead)) : 0;
      const r = colors[4 * i] * (1 - fog) + ground[0] * fog;
      const g = colors[4 * i + 1] * (1 - fog) + ground[1] * fog;
      const blue = colors[4 * i + 2] * (1 - fog) + ground[2] * fog;
      const opacity = colors[4 * i + 3] / 255;
      const side = 2 * reach + 1;
      for (let dy = -reach; dy <= reach; dy++) {
        const row = py + dy;
        if (row < 0 || row >= height) continue;
        for (let dx = -reach; dx <= reach; dx++) {
          const covered = cover[(dy + reach) * side + dx + reach];
          const column = px + dx;
          if (covered === 0 || column < 0 || column >= width) continue;
          const at = row * width + column;
          let alpha = (covered / 256) * opacity;
          if (deep) {
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

  private disc(size: number): Disc {
    const rounded = Math.max(1, Math.round(2 * size) / 2);
    let disc = this.discs.get(rounded);
    if (!disc) {
      const radius = rounded / 2;
      const reach = Math.max(0, Math.ceil(radius - 0.5));
      const side = 2 * reach + 1;
      const cover = new Uint16Array(side * side);
      for (let y = -reach; y <= reach; y++) {
        for (let x = -reach; x <= reach; x++) {
          const covered = Math.min(1, Math.max(0, radius + 0.5 - Math.hypot(x, y)));
          cover[(y + reach) * side + x + reach] = Math.round(256 * covered);
        }
      }
      disc = { reach, cover };
      this.discs.set(rounded, disc);
    }
    return disc;
  }

  dispose(): void {}
}
