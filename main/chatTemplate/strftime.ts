/** Python's strftime for the few templates that write today's date. English names, local time. */

const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const two = (n: number): string => String(n).padStart(2, "0");

const DAY = 86_400_000;
const midnight = (date: Date): number => Date.UTC(date.getFullYear(), date.getMonth(), date.getDate());
const dayOfYear = (date: Date): number => (midnight(date) - Date.UTC(date.getFullYear(), 0, 0)) / DAY;

/** Weeks that have begun in the year; each begins with this day (0: Sunday). */
const weekOfYear = (date: Date, first: number): number =>
  Math.floor((dayOfYear(date) + 6 - ((date.getDay() + 7 - first) % 7)) / 7);

/** ISO 8601: a week belongs to the year of its Thursday. */
function isoWeek(date: Date): { readonly year: number; readonly week: number } {
  const thursday = midnight(date) + (3 - ((date.getDay() + 6) % 7)) * DAY;
  const year = new Date(thursday).getUTCFullYear();
  return { year, week: Math.floor((thursday - Date.UTC(year, 0, 1)) / DAY / 7) + 1 };
}

export function strftime(date: Date, format: string): string {
  const month = MONTHS[date.getMonth()] ?? "";
  const day = DAYS[date.getDay()] ?? "";
  const hour12 = date.getHours() % 12 === 0 ? 12 : date.getHours() % 12;
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  const half = date.getHours() < 12 ? "AM" : "PM";
  const slashes = `${two(date.getMonth() + 1)}/${two(date.getDate())}/${two(date.getFullYear() % 100)}`;
  const { year, week } = isoWeek(date);
  const values: Readonly<Record<string, string>> = {
    c: `${day.slice(0, 3)} ${month.slice(0, 3)} ${String(date.getDate()).padStart(2)} ${time} ${date.getFullYear()}`,
    x: slashes,
    X: time,
    r: `${two(hour12)}:${two(date.getMinutes())}:${two(date.getSeconds())} ${half}`,
    s: String(Math.floor(date.getTime() / 1000)),
    U: two(weekOfYear(date, 0)),
    W: two(weekOfYear(date, 1)),
    V: two(week),
    G: String(year),
    g: two(year % 100),
    Y: String(date.getFullYear()),
    y: two(date.getFullYear() % 100),
    m: two(date.getMonth() + 1),
    d: two(date.getDate()),
    B: month,
    b: month.slice(0, 3),
    A: day,
    a: day.slice(0, 3),
    H: two(date.getHours()),
    I: two(hour12),
    M: two(date.getMinutes()),
    S: two(date.getSeconds()),
    p: half,
    j: String(dayOfYear(date)).padStart(3, "0"),
    e: String(date.getDate()).padStart(2),
    k: String(date.getHours()).padStart(2),
    l: String(hour12).padStart(2),
    P: half.toLowerCase(),
    h: month.slice(0, 3),
    C: two(Math.floor(date.getFullYear() / 100)),
    F: `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`,
    D: slashes,
    T: time,
    R: `${two(date.getHours())}:${two(date.getMinutes())}`,
    f: String(date.getMilliseconds() * 1000).padStart(6, "0"),
    w: String(date.getDay()),
    u: String(date.getDay() === 0 ? 7 : date.getDay()),
    n: "\n",
    t: "\t",
    // The time that templates are told knows no zone.
    Z: "",
    z: "",
    "%": "%",
  };
  return format.replace(/%([-_0^#]?)([A-Za-z%])/gu, (whole, flag: string, letter: string) => {
    const value = values[letter];
    return value === undefined ? whole : changed(value, flag, letter);
  });
}

/** As the C library has it: a minus asks for no leading zero, an underline for a blank instead. */
function changed(value: string, flag: string, letter: string): string {
  switch (flag) {
    case "-":
      return value.replace(/^[0 ]+(?=\d)/u, "");
    case "_":
      return value.replace(/^0+(?=\d)/u, (zeros) => " ".repeat(zeros.length));
    case "0":
      return value.replace(/^ +(?=\d)/u, (blanks) => "0".repeat(blanks.length));
    case "^":
      return value.toUpperCase();
    case "#":
      return letter === "p" ? value.toLowerCase() : value.toUpperCase();
    default:
      return value;
  }
}
