/** Draws points with WebGL2. */

import { PERSPECTIVE } from "./camera";
import { createPointsCanvas, type Renderer, type RenderParameters } from "./renderer";

const VERTEX = `#version 300 es
layout(location=0) in vec3 a;
layout(location=1) in vec3 b;
layout(location=2) in vec4 color;
uniform mat3 rotation;
uniform vec3 center, background;
uniform vec2 scale;
uniform float t, size, is3d;
out vec4 tint;
out float width;
void main() {
  vec3 p = rotation * (mix(a, b, t) - center);
  float near = mix(1., 1. / max(.2, 1. - ${PERSPECTIVE} * p.z), is3d);
  gl_Position = vec4(p.xy * scale * near, clamp(-p.z * .3 * is3d, -1., 1.), 1.);
  width = max(1., size * near);
  gl_PointSize = width + (width > 2.5 ? 1. : 0.);
  float fog = is3d * clamp(.35 - .35 * p.z, 0., .7);
  tint = vec4(mix(color.rgb, background, fog), color.a);
}`;

const FRAGMENT = `#version 300 es
precision highp float;
in vec4 tint;
in float width;
uniform float is3d;
out vec4 pixel;
void main() {
  float cover = 1.;
  if (width > 2.5) cover = clamp(.5 * width + .5 - length(gl_PointCoord - .5) * (width + 1.), 0., 1.);
  if (cover < .02) discard;
  float alpha = tint.a * cover;
  // In three dimensions, alpha selects samples: a blended edge would hide points behind it.
  pixel = is3d > .5 ? vec4(tint.rgb, alpha) : vec4(tint.rgb * alpha, alpha);
}`;

/** Whether WebGL runs on the CPU. */
function isSoftwareRenderer(gl: WebGL2RenderingContext): boolean {
  const details = gl.getExtension("WEBGL_debug_renderer_info");
  const name = String(gl.getParameter(details ? details.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
}

export class WebGl implements Renderer {
  readonly name = "webgl";
  private readonly buffers: WebGLBuffer[];
  private readonly order: WebGLBuffer;
  private readonly uniforms: Record<string, WebGLUniformLocation | null> = {};

  /**
   * Returns null if WebGL2 is not available, cannot run the program, or (unless `allowSoftware`) runs on the CPU, where drawing pixel by
   * pixel is about twice as fast.
   */
  static create(is3d: boolean, allowSoftware: boolean): WebGl | null {
    const canvas = createPointsCanvas();
    const gl = canvas.getContext("webgl2", { alpha: false, antialias: is3d, powerPreference: "high-performance" });
    try {
      return gl && (allowSoftware || !isSoftwareRenderer(gl)) ? new WebGl(gl, canvas) : null;
    } catch (error) {
      console.warn("WebGL2 is available but does not work:", error);
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
    for (const name of ["rotation", "center", "background", "scale", "t", "size", "is3d"]) {
      this.uniforms[name] = gl.getUniformLocation(program, name);
    }
    this.buffers = [0, 1, 2].map((attribute) => {
      const buffer = gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.enableVertexAttribArray(attribute);
      if (attribute < 2) gl.vertexAttribPointer(attribute, 3, gl.FLOAT, false, 0, 0);
      else gl.vertexAttribPointer(attribute, 4, gl.UNSIGNED_BYTE, true, 0, 0);
      return buffer;
    });
    this.order = gl.createBuffer();
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.order);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  private fill(attribute: number, data: Float32Array | Uint8Array): void {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.buffers[attribute]);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, data, this.gl.STATIC_DRAW);
  }

  setPositions(from: Float32Array, to: Float32Array): void {
    const { gl } = this;
    this.fill(0, from === to ? new Float32Array(0) : from);
    this.fill(1, to);
    // At rest, both positions are equal and are sent once.
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[from === to ? 1 : 0]);
    gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
  }

  setColors(colors: Uint8Array): void {
    this.fill(2, colors);
  }

  setOrder(order: Uint32Array): void {
    this.gl.bufferData(this.gl.ELEMENT_ARRAY_BUFFER, order, this.gl.STATIC_DRAW);
  }

  draw({ camera, t, size, count, background, ratio }: RenderParameters): void {
    const { gl, uniforms, canvas } = this;
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(background[0] / 255, background[1] / 255, background[2] / 255, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    if (count === 0) return;
    const [a, b, c] = camera.rotation;
    // In column-major order.
    gl.uniformMatrix3fv(uniforms.rotation, false, [a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2]]);
    gl.uniform3fv(uniforms.center, camera.center);
    gl.uniform3f(uniforms.background, background[0] / 255, background[1] / 255, background[2] / 255);
    const pixels = 2 * camera.scale * ratio;
    gl.uniform2f(uniforms.scale, pixels / canvas.width, pixels / canvas.height);
    gl.uniform1f(uniforms.t, t);
    gl.uniform1f(uniforms.size, size);
    gl.uniform1f(uniforms.is3d, camera.is3d ? 1 : 0);
    for (const test of [gl.DEPTH_TEST, gl.SAMPLE_ALPHA_TO_COVERAGE]) {
      if (camera.is3d) gl.enable(test);
      else gl.disable(test);
    }
    if (camera.is3d) gl.disable(gl.BLEND);
    else gl.enable(gl.BLEND);
    gl.drawElements(gl.POINTS, count, gl.UNSIGNED_INT, 0);
  }

  dispose(): void {
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }
}
