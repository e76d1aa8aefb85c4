/** Points by WebGL2. */

import { PERSPECTIVE } from "./camera";
import { pointsCanvas, type Renderer, type Scene } from "./renderer";

const VERTEX = `#version 300 es
layout(location=0) in vec3 a;
layout(location=1) in vec3 b;
layout(location=2) in vec4 color;
uniform mat3 turn;
uniform vec3 center, ground;
uniform vec2 scale;
uniform float t, size, deep;
out vec4 ink;
out float width;
void main() {
  vec3 p = turn * (mix(a, b, t) - center);
  float near = mix(1., 1. / max(.2, 1. - ${PERSPECTIVE} * p.z), deep);
  gl_Position = vec4(p.xy * scale * near, clamp(-p.z * .3 * deep, -1., 1.), 1.);
  width = max(1., size * near);
  gl_PointSize = width + (width > 2.5 ? 1. : 0.);
  float fog = deep * clamp(.35 - .35 * p.z, 0., .7);
  ink = vec4(mix(color.rgb, ground, fog), color.a);
}`;

const FRAGMENT = `#version 300 es
precision highp float;
in vec4 ink;
in float width;
uniform float deep;
out vec4 pixel;
void main() {
  float cover = 1.;
  if (width > 2.5) cover = clamp(.5 * width + .5 - length(gl_PointCoord - .5) * (width + 1.), 0., 1.);
  if (cover < .02) discard;
  float alpha = ink.a * cover;
  // In depth, samples are covered or not: a soft edge would hide what lies behind it.
  pixel = deep > .5 ? vec4(ink.rgb, alpha) : vec4(ink.rgb * alpha, alpha);
}`;

function isImitation(gl: WebGL2RenderingContext): boolean {
  const details = gl.getExtension("WEBGL_debug_renderer_info");
  const name = String(gl.getParameter(details ? details.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
}

export class WebGl implements Renderer {
  readonly name = "webgl";
  private readonly buffers: WebGLBuffer[];
  private readonly order: WebGLBuffer;
  private readonly places: Record<string, WebGLUniformLocation | null> = {};

  /**
   * None where the browser has no WebGL2, or one that cannot run the program, or (unless `anyhow`) one that only imitates a
   * graphics card: writing the pixels ourselves is then about twice as fast.
   */
  static make(deep: boolean, anyhow: boolean): WebGl | null {
    const canvas = pointsCanvas();
    const gl = canvas.getContext("webgl2", { alpha: false, antialias: deep, powerPreference: "high-performance" });
    try {
      return gl && (anyhow || !isImitation(gl)) ? new WebGl(gl, canvas) : null;
    } catch (error) {
      console.warn("WebGL2 is there but does not work:", error);
      return null;
    }
  }

  private constructor(
    private readonly gl: WebGL2RenderingContext,
    readonly canvas: HTMLCanvasElement,
  ) {
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]] as const) {
      const shader = gl.createShader(kind)!;
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program) ?? "");
    gl.useProgram(program);
    for (const name of ["turn", "center", "ground", "scale", "t", "size", "deep"]) {
      this.places[name] = gl.getUniformLocation(program, name);
    }
    this.buffers = [0, 1, 2].map((place) => {
      const buffer = gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.enableVertexAttribArray(place);
      if (place < 2) gl.vertexAttribPointer(place, 3, gl.FLOAT, false, 0, 0);
      else gl.vertexAttribPointer(place, 4, gl.UNSIGNED_BYTE, true, 0, 0);
      return buffer;
    });
    this.order = gl.createBuffer();
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.order);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  private fill(place: number, data: Float32Array | Uint8Array): void {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.buffers[place]);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, data, this.gl.STATIC_DRAW);
  }

  setPositions(from: Float32Array, to: Float32Array): void {
    const { gl } = this;
    this.fill(0, from === to ? new Float32Array(0) : from);
    this.fill(1, to);
    // At rest both ends are the same numbers, sent once.
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[from === to ? 1 : 0]);
    gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
  }

  setColors(colors: Uint8Array): void {
    this.fill(2, colors);
  }

  setOrder(order: Uint32Array): void {
    this.gl.bufferData(this.gl.ELEMENT_ARRAY_BUFFER, order, this.gl.STATIC_DRAW);
  }

  draw({ camera, t, size, count, ground, ratio }: Scene): void {
    const { gl, places, canvas } = this;
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(ground[0] / 255, ground[1] / 255, ground[2] / 255, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    if (count === 0) return;
    const [a, b, c] = camera.turn;
    // Columns of the rotation whose rows are a, b, c.
    gl.uniformMatrix3fv(places.turn, false, [a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2]]);
    gl.uniform3fv(places.center, camera.center);
    gl.uniform3f(places.ground, ground[0] / 255, ground[1] / 255, ground[2] / 255);
    const pixels = 2 * camera.scale * ratio;
    gl.uniform2f(places.scale, pixels / canvas.width, pixels / canvas.height);
    gl.uniform1f(places.t, t);
    gl.uniform1f(places.size, size);
    gl.uniform1f(places.deep, camera.deep ? 1 : 0);
    for (const test of [gl.DEPTH_TEST, gl.SAMPLE_ALPHA_TO_COVERAGE]) {
      if (camera.deep) gl.enable(test);
      else gl.disable(test);
    }
    if (camera.deep) gl.disable(gl.BLEND);
    else gl.enable(gl.BLEND);
    gl.drawElements(gl.POINTS, count, gl.UNSIGNED_INT, 0);
  }

  dispose(): void {
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }
}
