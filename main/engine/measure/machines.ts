/**
 * Macs that forecasts can be made for: unified memory as sold, published memory bandwidth and GPU rate (Apple's technical
 * specifications). What a program reaches of the published numbers is stated beside each forecast, not hidden in here.
 */
export interface Machine {
  readonly title: string;
  readonly memoryBytes: number;
  /** Published, bytes per second. */
  readonly bandwidth: number;
  /** Published f32 rate of the GPU, flop per second. */
  readonly gpuFlops: number;
}

const GB = 1e9;
const GiB = 2 ** 30;
const T = 1e12;
const machine = (title: string, memory: number, bandwidth: number, gpu: number): Machine => ({
  title,
  memoryBytes: memory * GiB,
  bandwidth: bandwidth * GB,
  gpuFlops: gpu * T,
});

/** By the chip ids of the target list; memory is the largest common configuration of a base machine. */
export const MACHINES: Readonly<Record<string, Machine>> = {
  m1: machine("M1, 16 GB", 16, 68.25, 2.6),
  "m1-pro": machine("M1 Pro, 16 GB", 16, 200, 5.2),
  "m1-max": machine("M1 Max, 32 GB", 32, 400, 10.4),
  m2: machine("M2, 16 GB", 16, 100, 3.6),
  "m2-pro": machine("M2 Pro, 16 GB", 16, 200, 6.8),
  "m2-max": machine("M2 Max, 32 GB", 32, 400, 13.6),
  m3: machine("M3, 16 GB", 16, 100, 4.1),
  "m3-pro": machine("M3 Pro, 18 GB", 18, 150, 7.4),
  "m3-max": machine("M3 Max, 36 GB", 36, 300, 14.2),
  m4: machine("M4, 24 GB", 24, 120, 4.3),
  "m4-pro": machine("M4 Pro, 24 GB", 24, 273, 9.2),
  "m4-max": machine("M4 Max, 36 GB", 36, 410, 17),
  m5: machine("M5, 24 GB", 24, 153, 5.7),
};

/** The machine a chip stands for; the plain chip of its generation where we have no numbers for the variant. */
export const machineFor = (chip: string): Machine | undefined => MACHINES[chip] ?? MACHINES[chip.split("-")[0] ?? ""];
